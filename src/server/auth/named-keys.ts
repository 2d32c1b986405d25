import { type Clock, parseRfc3339, repeat, type Timer } from '../../lib/util/time.ts'
import { FileFollower } from '../../lib/util/file-follower.ts'
import { messageOf } from '../../lib/util/errors.ts'
import { type KeyScope, type NamedKey, readKeysFile } from '../../lib/auth/keys-file.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { AuthLimits } from './limits.ts'

interface NamedKeysParts {
  readonly path: string
  readonly limits: Pick<AuthLimits, 'keysFreshMs' | 'keysPollMs'>
  readonly ticks: Clock
  readonly timer: Timer
  readonly log: Logger
}

/** A named key, prepared for lookups. */
export interface KnownKey {
  readonly name: string
  readonly scope: KeyScope
  readonly expiresAtMs: number | null
}

/** Explains the 401s, and warns that a restart may open the server. */
const goneText =
  'the keys file is missing: no key is accepted; a restart without --auth api-key opens the server'

type Keys = ReadonlyMap<string, KnownKey>

/**
 * The keys of `keys.json`. Follows the file, so that `keys create` and `keys revoke` take effect
 * without a restart. A missing or unusable file has no keys: earlier ones may have been revoked.
 */
export class NamedKeys {
  readonly #parts: NamedKeysParts
  readonly #follower: FileFollower
  readonly #listeners = new Set<(name: string) => void>()
  readonly #requiredListeners = new Set<() => void>()
  #keys: Keys = new Map()
  /** Why the file cannot be used. */
  #problem: string | null = null
  #wasThere = false
  /** The file has had a key, or appeared after the start. */
  #hadKeys = false
  #lookedMs = -Infinity
  #stop = () => {}

  private constructor(parts: NamedKeysParts) {
    this.#parts = parts
    this.#follower = new FileFollower(parts.path)
  }

  /** Throws `config_invalid` for an unusable file: the server must not start. */
  static async open(parts: NamedKeysParts): Promise<NamedKeys> {
    const keys = new NamedKeys(parts)
    await keys.#follower.look(async () => {
      const found = await readKeysFile(parts.path)
      keys.#keys = known(found ?? [])
      keys.#wasThere = found !== null
      return true
    })
    keys.#hadKeys = keys.#keys.size > 0
    keys.#lookedMs = parts.ticks.now()
    keys.#stop = repeat(parts.timer, parts.limits.keysPollMs, () => keys.look())
    return keys
  }

  /**
   * True when the file is unchanged since the last check. Synchronous: while a request waits for
   * the disk, Node drops the answer to a client that has half-closed the connection.
   */
  isUnchanged(): boolean {
    const { ticks, limits } = this.#parts
    const nowMs = ticks.now()
    if (nowMs - this.#lookedMs < limits.keysFreshMs) return true
    if (!this.#follower.isUnchanged()) return false
    this.#lookedMs = nowMs
    return true
  }

  /** Finds a key by its hash, as of the last check. */
  find(digest: string): KnownKey | undefined {
    return this.#keys.get(digest)
  }

  /** Whether clients must present a key: the file has or had one, or is unusable. */
  get isRequired(): boolean {
    return this.#hadKeys || this.#problem !== null
  }

  /** Calls the listener when `isRequired` becomes true. Returns the unsubscribe function. */
  onRequired(listener: () => void): () => void {
    this.#requiredListeners.add(listener)
    return () => void this.#requiredListeners.delete(listener)
  }

  /** Checks the file; what was written before the call is known after it. Never rejects. */
  async look(): Promise<void> {
    const nowMs = this.#parts.ticks.now()
    await this.#follower.look(() => this.#read())
    this.#lookedMs = nowMs
  }

  /** Calls the listener for each removed or changed key. Returns the unsubscribe function. */
  onRevoked(listener: (name: string) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  close(): void {
    this.#stop()
    this.#listeners.clear()
    this.#requiredListeners.clear()
  }

  async #read(): Promise<boolean> {
    const { path, log } = this.#parts
    try {
      const found = await readKeysFile(path)
      this.#updateRequired(() => {
        this.#problem = null
        if (found !== null && (found.length > 0 || !this.#wasThere)) this.#hadKeys = true
      })
      this.#replace(known(found ?? []))
      if (found !== null) log.info({ path, keys: found.length }, 'reloaded the keys')
      else log.warn({ path }, goneText)
      return true
    } catch (error) {
      const problem = messageOf(error)
      if (this.#problem !== problem) {
        log.error({ err: error, path }, 'cannot read the keys: no key is accepted')
      }
      this.#updateRequired(() => (this.#problem = problem))
      this.#replace(new Map())
      return false
    }
  }

  #updateRequired(change: () => void): void {
    const before = this.isRequired
    change()
    if (before || !this.isRequired) return
    for (const listener of this.#requiredListeners) listener()
  }

  #replace(keys: Keys): void {
    const before = this.#keys
    this.#keys = keys
    for (const [digest, key] of before) {
      const now = keys.get(digest)
      const same = now?.name === key.name && now.scope === key.scope
      if (same && now.expiresAtMs === key.expiresAtMs) continue
      for (const listener of this.#listeners) listener(key.name)
    }
  }
}

function known(keys: readonly NamedKey[]): Keys {
  return new Map(
    keys.map(({ name, sha256, scope, expiresAt }) => {
      const expiresAtMs = expiresAt === null ? null : parseRfc3339(expiresAt)
      return [sha256, { name, scope, expiresAtMs }]
    }),
  )
}
