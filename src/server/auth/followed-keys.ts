import { isDeepStrictEqual } from 'node:util'
import { type ClientKey, type ClientKeys, readClientKeys } from '../../lib/auth/client-keys.ts'
import { messageOf } from '../../lib/util/errors.ts'
import { FileFollower } from '../../lib/util/file-follower.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { monotonicClock, repeat, systemTimer, type Timer } from '../../lib/util/time.ts'
import { anonymous } from '../http/authentication.ts'

interface FollowedKeysParts {
  readonly path: string
  /** Clients need no key while there is no file. */
  readonly startsOpen: boolean
  /** `keys off` opens the server. */
  readonly mayOpen: boolean
  readonly log: Logger
  readonly timer?: Timer
}

/** The file is not looked at again for so long. */
const freshMs = 100
/** The file is looked at so often without requests, so that revoked keys lose their streams. */
const pollMs = 1000

/** The principal of the holder of a key, in sessions and logs; reveals nothing of the key. */
export function keyPrincipal({ name }: ClientKey): string {
  return `key:${name}`
}

/**
 * The keys of the keys file. It is read again when it has changed, so that `keys create`, `revoke`
 * and `off` take effect without a restart. A missing or unusable file has no keys, and never opens
 * the server: only a file that says so does.
 */
export class FollowedKeys {
  readonly #parts: FollowedKeysParts
  readonly #follower: FileFollower
  readonly #listeners = new Set<(principal: string) => void>()
  #keys = new Map<string, ClientKey>()
  #isOpen: boolean
  #problem: string | null = null
  #lookedMs = -Infinity
  #stop = () => {}

  private constructor(parts: FollowedKeysParts) {
    this.#parts = parts
    this.#follower = new FileFollower(parts.path)
    this.#isOpen = parts.startsOpen
  }

  /** Throws `config_invalid` for an unusable file: the server must not start. */
  static async open(parts: FollowedKeysParts): Promise<FollowedKeys> {
    const keys = new FollowedKeys(parts)
    await keys.#follower.look(async () => {
      keys.#apply(await readClientKeys(parts.path))
      return true
    })
    keys.#stop = repeat(parts.timer ?? systemTimer, pollMs, () => keys.look())
    return keys
  }

  /** Clients need no key. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  get size(): number {
    return this.#keys.size
  }

  /** Finds a key by its digest, as of the last look at the file. */
  find(digest: string): ClientKey | undefined {
    return this.#keys.get(digest)
  }

  /**
   * Whether what was read still holds. Synchronous: while a request waits for the disk, Node drops
   * the answer to a client that has half-closed the connection.
   */
  isFresh(): boolean {
    const nowMs = monotonicClock.now()
    if (nowMs - this.#lookedMs < freshMs) return true
    if (!this.#follower.isUnchanged()) return false
    this.#lookedMs = nowMs
    return true
  }

  /** Reads the file when it has changed. Never rejects. */
  async look(): Promise<void> {
    const nowMs = monotonicClock.now()
    await this.#follower.look(() => this.#read())
    this.#lookedMs = nowMs
  }

  /** Calls back with each principal whose access has ended. Returns the way to stop listening. */
  onRevoked(listener: (principal: string) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  close(): void {
    this.#stop()
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
    const ended = [...before].filter(
      ([digest, key]) => !isDeepStrictEqual(this.#keys.get(digest), key),
    )
    const principals = ended.map(([, key]) => keyPrincipal(key))
    if (wasOpen && !this.#isOpen) principals.push(anonymous)
    for (const listener of this.#listeners) principals.forEach(listener)
  }
}
