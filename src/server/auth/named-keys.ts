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

/** A key as it is asked for at every request. */
export interface KnownKey {
  readonly name: string
  readonly scope: KeyScope
  readonly expiresAtMs: number | null
}

/** Warns those who look for the reason of a 401: a restart may open the server. */
const goneText =
  'the file of keys is gone: no key is accepted; a server that starts now is open unless --auth api-key is given'

type Keys = ReadonlyMap<string, KnownKey>

/**
 * The keys of `keys.json`, followed while the server runs: what `keys create` and `keys revoke`
 * write counts without a restart. A file that went, or that cannot be used any more, holds no key:
 * nobody is let in by what it held before, because nobody can tell what of that was revoked.
 */
export class NamedKeys {
  readonly #parts: NamedKeysParts
  readonly #follower: FileFollower
  readonly #listeners = new Set<(name: string) => void>()
  readonly #askedListeners = new Set<() => void>()
  #keys: Keys = new Map()
  /** Why the file cannot be used. */
  #problem: string | null = null
  #wasThere = false
  /** There has been a key, or a file that was not there at the start. */
  #hadKeys = false
  #lookedMs = -Infinity
  #stop = () => {}

  private constructor(parts: NamedKeysParts) {
    this.#parts = parts
    this.#follower = new FileFollower(parts.path)
  }

  /** Throws `config_invalid` when there is a file that cannot be used: the server must not start. */
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
   * Whether the file is as it was at the last look. Waits for nothing: while a request waits for the
   * disk, Node drops the answer to a client that has closed its half of the connection.
   */
  isUnchanged(): boolean {
    const { ticks, limits } = this.#parts
    const nowMs = ticks.now()
    if (nowMs - this.#lookedMs < limits.keysFreshMs) return true
    if (!this.#follower.isUnchanged()) return false
    this.#lookedMs = nowMs
    return true
  }

  /** By the hash of the key; as of the last look. */
  find(digest: string): KnownKey | undefined {
    return this.#keys.get(digest)
  }

  /** Whether clients must present a key: the file has or had one, or is unusable. */
  get isRequired(): boolean {
    return this.#hadKeys || this.#problem !== null
  }

  /** Told when `isRequired` becomes true. Returns the unsubscribe. */
  onRequired(listener: () => void): () => void {
    this.#askedListeners.add(listener)
    return () => void this.#askedListeners.delete(listener)
  }

  /** Looks at the file, once for all who ask at the same time. Never rejects. */
  async look(): Promise<void> {
    await this.#follower.look(() => this.#read())
    this.#lookedMs = this.#parts.ticks.now()
  }

  /** Told the name of each key that is no longer good for what it was. Returns the unsubscribe. */
  onRevoked(listener: (name: string) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  close(): void {
    this.#stop()
    this.#listeners.clear()
    this.#askedListeners.clear()
  }

  async #read(): Promise<boolean> {
    const { path, log } = this.#parts
    try {
      const found = await readKeysFile(path)
      this.#becomeAsked(() => {
        this.#problem = null
        if (found !== null && (found.length > 0 || !this.#wasThere)) this.#hadKeys = true
      })
      this.#replace(known(found ?? []))
      if (found !== null) log.info({ path, keys: found.length }, 'the keys were read again')
      else log.warn({ path }, goneText)
      return true
    } catch (error) {
      const problem = messageOf(error)
      if (this.#problem !== problem) {
        log.error({ err: error, path }, 'the keys cannot be read: none of them is accepted')
      }
      this.#becomeAsked(() => (this.#problem = problem))
      this.#replace(new Map())
      return false
    }
  }

  #becomeAsked(change: () => void): void {
    const before = this.isRequired
    change()
    if (before || !this.isRequired) return
    for (const listener of this.#askedListeners) listener()
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
