import { isDeepStrictEqual } from 'node:util'
import {
  type ClientKey,
  type ClientKeys,
  keyPrefix,
  readClientKeys,
} from '../../lib/auth/client-keys.ts'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import { messageOf } from '../../lib/util/errors.ts'
import { FileFollower } from '../../lib/util/file-follower.ts'
import { hashOfSecret, Secret } from '../../lib/util/secret.ts'
import { repeat, systemTimer } from '../../lib/util/time.ts'
import {
  anonymous,
  type AuthAccepted,
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
  /**
   * Who has something open: an event stream may be open for days. An array, because V8 keeps the old
   * tables of a map, with all requests that were in them, until its next full collection.
   */
  readonly #watches: { readonly principal: string; readonly ended: () => void }[] = []
  readonly #openAccess: AuthAccepted
  #keys = new Map<string, { readonly key: ClientKey; readonly access: AuthAccepted }>()
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
    this.#openAccess = this.#watched(openAccess)
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

  readonly isOpen = (): boolean => this.#isOpen

  close(): void {
    this.#stop()
  }

  #decide(sent: string | undefined): AuthOutcome {
    if (this.#isOpen) return this.#openAccess
    if (sent === undefined) return keyMissing
    const token = bearerToken(sent)
    if (token === null) return keyMalformed
    // The file comes first: the configured key may also stand there, with the scope `read`.
    const known = token.startsWith(keyPrefix) ? this.#keys.get(hashOfSecret(token)) : undefined
    if (known === undefined) {
      if (this.#configured?.equals(token)) return keyHolder
      return this.#settings.mode === 'accounts' ? tokenUnknown : keyUnknown
    }
    const { expiresAtMs = Infinity } = known.access
    return expiresAtMs <= Date.now() ? expired : known.access
  }

  #accessOf({ name, scope, expires_at: expiresAt }: ClientKey): AuthAccepted {
    const expiresAtMs = expiresAt === undefined ? undefined : Date.parse(expiresAt)
    // The principal reveals nothing of the key in sessions and logs.
    const principal = `key:${name}`
    return this.#watched({ ok: true, principal, mayWrite: scope === 'write', expiresAtMs })
  }

  #watched(access: AuthAccepted): AuthAccepted {
    const { principal } = access
    return {
      ...access,
      watch: ended => {
        const watch = { principal, ended }
        this.#watches.push(watch)
        // Streams are at the beginning, what is answered at once is at the end.
        return () => void this.#watches.splice(this.#watches.lastIndexOf(watch), 1)
      },
    }
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
    this.#keys = new Map(file?.keys.map(key => [key.sha256, { key, access: this.#accessOf(key) }]))
    const { mode, mayOpen = mode === 'none' } = this.#settings
    if (file !== null) this.#isOpen = mayOpen && file.open === true
    const isSame = (key: ClientKey) => isDeepStrictEqual(this.#keys.get(key.sha256)?.key, key)
    const ended = [...before.values()].filter(({ key }) => !isSame(key))
    const principals = ended.map(({ access }) => access.principal)
    if (wasOpen && !this.#isOpen) principals.push(anonymous)
    for (const watch of [...this.#watches]) if (principals.includes(watch.principal)) watch.ended()
  }
}
