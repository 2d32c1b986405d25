import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { withoutSecrets } from '../../../lib/util/secret.ts'
import { cleanText } from '../../../lib/util/text.ts'
import type { Viewer } from '../../http/authentication.ts'
import type { InstanceDirectory } from '../instance-directory.ts'
import type { Wanted } from './instances.ts'

/**
 * The trail of who read what of instances that joined: one line of the log for each read, call,
 * download and subscription. Null as `viewer`: holders of the gateway's key.
 */
export class AccessTrail {
  readonly #directory: Pick<InstanceDirectory, 'entries'>
  readonly #viewer: Viewer | null
  readonly #log: Logger

  constructor(directory: Pick<InstanceDirectory, 'entries'>, viewer: Viewer | null, log: Logger) {
    this.#directory = directory
    this.#viewer = viewer
    this.#log = log
  }

  /** Runs what the caller wants, and writes down how it ended. */
  async of<Answer>({ instanceId, rpc, uri }: Wanted, run: () => Promise<Answer>): Promise<Answer> {
    const entry = this.#directory.entries.find(({ record }) => record.instanceId === instanceId)
    if (!entry?.record.joined) return run()
    const { owner } = entry.record.joined
    const { username: user = null, accountId = null } = this.#viewer ?? {}
    const facts = { user, account_id: accountId, instance_id: instanceId, owner, rpc }
    const write = (outcome: string) => {
      const asked = cleanText(withoutSecrets(uri), 200)
      this.#log.info({ ...facts, uri: asked, outcome }, 'an instance was accessed')
    }
    try {
      const answer = await run()
      write('ok')
      return answer
    } catch (error) {
      write(error instanceof ServiceError ? error.code : 'internal')
      throw error
    }
  }
}
