import { isDeepStrictEqual } from 'node:util'
import {
  type ClientKey,
  type ClientKeys,
  keyDigest,
  keyPrefix,
  readClientKeys,
} from '../../lib/auth/client-keys.ts'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import { messageOf } from '../../lib/util/errors.ts'
import { FileFollower } from '../../lib/util/file-follower.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { Secret } from '../../lib/util/secret.ts'
import { monotonicClock, repeat, systemTimer, type Timer } from '../../lib/util/time.ts'
import {
  anonymous,
  type AuthOutcome,
  type AuthPolicy,
  type AuthRefused,
  keyHolder,
  keyMalformed,
  keyMissing,
  openAccess,
  refuse,
} from '../http/authentication.ts'
import type { FailureLimit } from './failure-limit.ts'

interface KeyPolicyParts {
  readonly path: string
  /** The key of the configuration, accepted beside those of the file. */
  readonly key: string | undefined
  /** Clients need no key while there is no file. */
  readonly startsOpen: boolean
  /** `keys off` opens the server. */
  readonly mayOpen: boolean
  /** The refusal of what is no key, where tokens are accepted, too. */
  readonly unknown?: AuthRefused
  readonly failures: FailureLimit
  readonly log: Logger
  readonly timer?: Timer
}

/** The file is not looked at again for so long. */
const freshMs = 100
/** The file is looked at so often without requests, so that revoked keys lose their streams. */
const pollMs = 1000

const keyUnknown = refuse(
  401,
  'invalid_token',
  'this server does not know the API key, or it was revoked',
)

const expired = refuse(
  401,
  'invalid_token',
  'the API key has expired: make a new one with service-cli keys create',
)

/**
 * Accepts the keys of the keys file. It is read again when it has changed, so that `keys create`,
 * `revoke` and `off` take effect without a restart. A missing or unusable file has no keys, and never
 * opens the server: only a file that says so does.
 */
export class KeyPolicy {
  readonly #parts: KeyPolicyParts
  readonly #configured: Secret | null
  readonly #unknown: AuthRefused
  readonly #follower: FileFollower
  readonly #listeners = new Set<(principal: string) => void>()
  #keys = new Map<string, ClientKey>()
  #isOpen: boolean
  #problem: string | null = null
  #lookedMs = -Infinity
  #stop = () => {}

  private constructor(parts: KeyPolicyParts) {
    this.#parts = parts
    this.#configured = parts.key === undefined ? null : new Secret(parts.key)
    this.#unknown = parts.unknown ?? keyUnknown
    this.#follower = new FileFollower(parts.path)
    this.#isOpen = parts.startsOpen
  }

  /** Throws `config_invalid` for an unusable file: the server must not start. */
  static async open(parts: KeyPolicyParts): Promise<KeyPolicy> {
    const policy = new KeyPolicy(parts)
    await policy.#follower.look(async () => {
      policy.#apply(await readClientKeys(parts.path))
      return true
    })
    // Beside a key of the configuration or tokens of an accounts server, none is needed.
    const isOther = parts.key !== undefined || parts.unknown !== undefined
    if (!policy.#isOpen && !isOther && policy.#keys.size === 0) {
      const ways = 'make one with service-cli keys create, or run service-cli keys off'
      parts.log.warn({ path: parts.path }, `there is no key for clients: ${ways}`)
    }
    policy.#stop = repeat(parts.timer ?? systemTimer, pollMs, () => policy.#look())
    return policy
  }

  /** As an object that other policies extend. */
  get policy(): AuthPolicy {
    return {
      authenticate: ({ headers, peer }) => {
        const sent = headers.authorization
        const now = this.#isFresh() ? this.#decide(sent) : this.#unknown
        if (now !== this.#unknown) return this.#counted(now, peer)
        // The key may have been made a moment ago.
        return this.#look().then(() => this.#counted(this.#decide(sent), peer))
      },
      onRevoked: listener => {
        this.#listeners.add(listener)
        return () => void this.#listeners.delete(listener)
      },
    }
  }

  close(): void {
    this.#stop()
  }

  #decide(sent: string | undefined): AuthOutcome {
    if (this.#isOpen) return openAccess
    if (sent === undefined) return keyMissing
    const token = bearerToken(sent)
    if (token === null) return keyMalformed
    // The file comes first: the configured key may also stand there, with the scope `read`.
    const key = token.startsWith(keyPrefix) ? this.#keys.get(keyDigest(token)) : undefined
    if (key === undefined) return this.#configured?.equals(token) ? keyHolder : this.#unknown
    const expiresAtMs = key.expires_at === undefined ? undefined : Date.parse(key.expires_at)
    if (expiresAtMs !== undefined && expiresAtMs <= Date.now()) return expired
    return { ok: true, principal: principalOf(key), mayWrite: key.scope === 'write', expiresAtMs }
  }

  #counted(outcome: AuthOutcome, peer: string): AuthOutcome | Promise<AuthOutcome> {
    const isGuess = !outcome.ok && outcome !== keyMissing
    return isGuess ? this.#parts.failures.refused(peer, outcome) : outcome
  }

  /**
   * Whether what was read still holds. Synchronous: while a request waits for the disk, Node drops
   * the answer to a client that has half-closed the connection.
   */
  #isFresh(): boolean {
    const nowMs = monotonicClock.now()
    if (nowMs - this.#lookedMs < freshMs) return true
    if (!this.#follower.isUnchanged()) return false
    this.#lookedMs = nowMs
    return true
  }

  /** Reads the file when it has changed. Never rejects. */
  async #look(): Promise<void> {
    const nowMs = monotonicClock.now()
    await this.#follower.look(() => this.#read())
    this.#lookedMs = nowMs
  }

  async #read(): Promise<boolean> {
    const { path, log } = this.#parts
    try {
      const file = await readClientKeys(path)
      this.#problem = null
      this.#apply(file)
      if (file === null) log.warn({ path }, 'the keys file is missing: no key is accepted')
      else log.info({ path, keys: file.keys.length, open: this.#isOpen }, 'reloaded the keys')
      return true
    } catch (error) {
      const problem = messageOf(error)
      if (this.#problem !== problem) log.error({ err: error, path }, 'no key is accepted')
      this.#problem = problem
      this.#apply({ keys: [] })
      return false
    }
  }

  #apply(file: ClientKeys | null): void {
    const before = this.#keys
    const wasOpen = this.#isOpen
    this.#keys = new Map(file?.keys.map(key => [key.sha256, key]))
    if (file !== null) this.#isOpen = this.#parts.mayOpen && file.open === true
    const ended = [...before.values()].filter(
      key => !isDeepStrictEqual(this.#keys.get(key.sha256), key),
    )
    const principals = ended.map(principalOf)
    if (wasOpen && !this.#isOpen) principals.push(anonymous)
    for (const listener of this.#listeners) principals.forEach(principal => listener(principal))
  }
}

/** The name of the holder of a key in sessions and logs; reveals nothing of the key. */
function principalOf({ name }: ClientKey): string {
  return `key:${name}`
}
