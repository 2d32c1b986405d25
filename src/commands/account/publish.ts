import { ServiceError } from '../../lib/util/errors.ts'
import { connect } from './connect.ts'
import { type AccountFlags, openContext } from './context.ts'

/**
 * The accounts API has no way to publish. The token is resolved as for every other command, so that
 * a pipeline can be set up and is told what is missing; nothing is sent.
 */
export async function publish(flags: AccountFlags, env: NodeJS.ProcessEnv): Promise<never> {
  const context = await openContext(flags, env)
  const { server, choice, store } = context
  return connect(context).withToken(async () => {
    throw new ServiceError(
      'request_refused',
      `${server.url} offers no publishing: nothing was published`,
      { hint: `the token would have been that of ${choice?.name ?? store.path}` },
    )
  })
}
