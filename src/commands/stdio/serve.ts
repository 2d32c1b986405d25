import { selectStateDirectory } from '../../lib/config/paths.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import { Secret } from '../../lib/util/secret.ts'
import type { ServeHandle } from '../../server/host/serve-options.ts'
import { readServeSettings, type ServeFlags, type ServeSettings } from '../serve-settings.ts'
import type { OutputFlags } from '../server-flags.ts'
import { JoinOrServe } from './join-or-serve.ts'
import { runStdio } from './run.ts'

/** Joins the running server of the user, or starts one, for one client on stdio. */
export async function runServeStdio(
  flags: ServeFlags & OutputFlags,
  given: string[],
  env: NodeJS.ProcessEnv,
): Promise<void> {
  await runStdio(flags, async (log, stop) => {
    const { serve, dccType, key } = await readServeStdioSettings(flags, given, env)
    const registryDir = selectStateDirectory(serve.registryDir, env)
    const start = async (): Promise<ServeHandle> => {
      const { startServe } = await import('../../server/serve.ts')
      return startServe({ ...serve, log, accessLog: log.access }, stop)
    }
    const server = new JoinOrServe(registryDir, dccType, start, log)
    await server.open()
    return { locate: server.locate, key, stop: () => server.stop() }
  })
}

/**
 * The flags of `serve --stdio` as checked settings; `given` are the names of those that the user
 * wrote. Throws `usage_invalid` or `config_invalid`.
 */
export async function readServeStdioSettings(
  flags: ServeFlags,
  given: string[],
  env: NodeJS.ProcessEnv,
) {
  const serve = await readServeSettings(flags, env)
  if (serve.appOrigins !== undefined) {
    throw usage(
      '--app-origin is not for --stdio: no user would see the token',
      'run serve without it',
    )
  }
  return {
    // A client starts many of them; the usual port is for the one that a person starts.
    serve: given.includes('port') ? serve : { ...serve, port: 0 },
    /** The kind of server to join; undefined for any. */
    dccType: given.includes('dcc-type') ? serve.dccType : undefined,
    /** Sent to the server. */
    key: keyOf(serve),
  }
}

/** The client speaks through this process, which therefore needs a key itself. */
function keyOf({ auth }: ServeSettings): Secret | null {
  if (auth?.mode === 'oauth') {
    throw usage('--auth oauth is not for --stdio: no user can log in there', 'use a key')
  }
  if (auth?.mode !== 'api-key') return null
  if (auth.key !== undefined) return new Secret(auth.key)
  const what = `clients need a key by ${auth.keysFile}, and none is given here`
  throw new ServiceError('config_invalid', what, {
    hint: 'set SERVICE_MCP_API_KEY to one of them; service-cli keys create makes another',
  })
}
