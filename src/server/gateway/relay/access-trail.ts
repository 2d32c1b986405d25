import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { withoutSecrets } from '../../../lib/util/secret.ts'
import { cleanText } from '../../../lib/util/text.ts'
import type { Viewer } from '../../http/authentication.ts'
import type { InstanceDirectory, JoinedAs } from '../instance-directory.ts'
import type { Wanted } from './instances.ts'

const maxChars = 200

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
  async of<Answer>(wanted: Wanted, run: () => Promise<Answer>): Promise<Answer> {
    const { instanceId } = wanted
    const entry = this.#directory.entries.find(({ record }) => record.instanceId === instanceId)
    const joined = entry?.record.joined ?? null
    if (joined === null) return run()
    try {
      const answer = await run()
      this.#write(wanted, joined, 'ok')
      return answer
    } catch (error) {
      this.#write(wanted, joined, error instanceof ServiceError ? error.code : 'internal')
      throw error
    }
  }

  #write({ instanceId, rpc, uri }: Wanted, { owner }: JoinedAs, outcome: string): void {
    const { username: user = null, accountId = null } = this.#viewer ?? {}
    const facts = { user, account_id: accountId, instance_id: instanceId, owner }
    const asked = { rpc, uri: cleanText(withoutSecrets(uri), maxChars), outcome }
    this.#log.info({ ...facts, ...asked }, 'an instance was accessed')
  }
}
