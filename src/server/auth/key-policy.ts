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
import { Secret } from '../../lib/util/secret.ts'
import { repeat, systemTimer } from '../../lib/util/time.ts'
import {
  anonymous,
  type AuthOutcome,
  type AuthPolicy,
  type Caller,
  invalidToken,
  keyHolder,
  keyMalformed,
  keyMissing,
  openAccess,
} from '../http/authentication.ts'
import type { AuthDeps, KeySettings } from './auth.ts'
import type { FailureLimit } from './failure-limit.ts'

interface KeyPolicyDeps extends Pick<AuthDeps, 'log' | 'timer'> {
  readonly failures: FailureLimit
}

/** The file is looked at so often without requests, so that revoked keys lose their streams. */
const pollMs = 1000

const keyUnknown = invalidToken('this server does not know the API key, or it was revoked')

/** Where the tokens of an accounts server are accepted, too. */
const tokenUnknown = invalidToken(
  'this is no token of the accounts server: make one with service-cli token create NAME --scope read',
)

const expired = invalidToken('the API key has expired: make a new one with service-cli keys create')

/**
 * Accepts the keys of the keys file. It is read again when it has changed, so that `keys create`,
 * `revoke` and `off` take effect without a restart. A missing or unusable file has no keys, and never
 * opens the server: only a file that says so does.
 */
export class KeyPolicy implements AuthPolicy {
  readonly #settings: KeySettings
  readonly #deps: KeyPolicyDeps
  readonly #configured: Secret | null
  readonly #follower: FileFollower
  readonly #listeners = new Set<(principal: string) => void>()
  #keys = new Map<string, ClientKey>()
  #isOpen: boolean
  #problem: string | null = null
  #stop = () => {}

  private constructor(settings: KeySettings, deps: KeyPolicyDeps) {
    const { mode, keysFile, key } = settings
    this.#settings = settings
    this.#deps = deps
    this.#configured = key === undefined ? null : new Secret(key)
    this.#follower = new FileFollower(keysFile)
    this.#isOpen = mode === 'none'
  }

  /** Throws `config_invalid` for an unusable file: the server must not start. */
  static async open(settings: KeySettings, deps: KeyPolicyDeps): Promise<KeyPolicy> {
    const policy = new KeyPolicy(settings, deps)
    const { mode, keysFile: path, key } = settings
    await policy.#follower.look(async () => {
      policy.#apply(await readClientKeys(path))
      return true
    })
    const isKeyNeeded = mode !== 'accounts' && key === undefined && !policy.#isOpen
    if (isKeyNeeded && policy.#keys.size === 0) {
      const ways = 'make one with service-cli keys create, or run service-cli keys off'
      deps.log.warn({ path }, `there is no key for clients: ${ways}`)
    }
    policy.#stop = repeat(deps.timer ?? systemTimer, pollMs, () => policy.#look())
    return policy
  }

  // Functions of the instance: other policies are made by `{ ...policy, authenticate }`.
  readonly authenticate = ({ headers, peer }: Caller): AuthOutcome | Promise<AuthOutcome> => {
    const decide = () => {
      const outcome = this.#decide(headers.authorization)
      const isGuess = !outcome.ok && outcome !== keyMissing
      return isGuess ? this.#deps.failures.refused(peer, outcome) : outcome
    }
    // Synchronous: while a request waits for the disk, Node drops the answer to a client that has
    // half-closed the connection.
    return this.#follower.isUnchanged() ? decide() : this.#look().then(decide)
  }

  readonly onRevoked = (listener: (principal: string) => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  readonly isOpen = (): boolean => this.#isOpen

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
    if (key === undefined) {
      if (this.#configured?.equals(token)) return keyHolder
      return this.#settings.mode === 'accounts' ? tokenUnknown : keyUnknown
    }
    const expiresAtMs = key.expires_at === undefined ? undefined : Date.parse(key.expires_at)
    if (expiresAtMs !== undefined && expiresAtMs <= Date.now()) return expired
    return { ok: true, principal: principalOf(key), mayWrite: key.scope === 'write', expiresAtMs }
  }

  /** Reads the file when it has changed. Never rejects. */
  #look(): Promise<void> {
    return this.#follower.look(() => this.#read())
  }

  async #read(): Promise<boolean> {
    const { log } = this.#deps
    const path = this.#settings.keysFile
    try {
      const file = await readClientKeys(path)
      this.#problem = null
      this.#apply(file)
      if (file === null)
        log.warn({ path }, 'the keys file is missing: none of its keys is accepted')
      else log.info({ path, keys: file.keys.length, open: this.#isOpen }, 'reloaded the keys')
      return true
    } catch (error) {
      const problem = messageOf(error)
      if (this.#problem !== problem)
        log.error({ err: error, path }, 'the keys file is unusable: none of its keys is accepted')
      this.#problem = problem
      this.#apply({ keys: [] })
      return false
    }
  }

  #apply(file: ClientKeys | null): void {
    const before = this.#keys
    const wasOpen = this.#isOpen
    this.#keys = new Map(file?.keys.map(key => [key.sha256, key]))
    const { mode, mayOpen = mode === 'none' } = this.#settings
    if (file !== null) this.#isOpen = mayOpen && file.open === true
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
