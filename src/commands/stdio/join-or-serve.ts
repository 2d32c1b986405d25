import type { Instance } from '../../lib/instances/instance.ts'
import { findNextRun } from '../../lib/instances/live-instances.ts'
import { type Selection, selectInstance } from '../../lib/instances/select-instance.ts'
import { messageOf } from '../../lib/util/errors.ts'
import { type Result, fail, ok } from '../../lib/util/result.ts'
import type { Target } from '../../lib/mcp/bridge/context.ts'
import type { ServeHandle } from '../../server/host/serve-options.ts'
import { several } from './choose-instance.ts'
import { targetOf } from './locate-instance.ts'

interface JoinOrServeParts {
  /** Undefined: any kind. */
  readonly dccType: string | undefined
  readonly live: () => Promise<Instance[]>
  readonly start: () => Promise<ServeHandle>
  /** One process at a time looks and starts: else two clients would start two servers. */
  readonly locked: <T>(work: () => Promise<T>) => Promise<T>
  readonly joined: (instance: Instance) => void
  readonly started: (server: ServeHandle) => void
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** 0…1 */
  readonly random: () => number
  readonly takeoverMs: number
}

/**
 * The instance that a client joins: of the kind it names, else one that has no kind yet, which
 * serves any; without a kind the only one there is.
 */
export function joinable(instances: readonly Instance[], dccType: string | undefined): Selection {
  if (dccType === undefined) return selectInstance(instances, undefined)
  const same = instances.filter(instance => instance.dccType === dccType)
  const any = instances.filter(instance => instance.dccType === 'unknown')
  return selectInstance(same.length > 0 ? same : any, undefined)
}

/** A running server of the user, or one of this process when there is none. */
export class JoinOrServe {
  readonly #parts: JoinOrServeParts
  readonly #broken = Promise.withResolvers<never>()
  #own: ServeHandle | null = null
  /** When the joined server disappeared; null unless the embedded server replaces it. */
  #awaySinceMs: number | null = null
  #joined: Instance | null = null
  #first: Target | null = null
  #lostMs: number | null = null
  #patienceMs = 0

  constructor(parts: JoinOrServeParts) {
    this.#parts = parts
    this.#broken.promise.catch(() => {})
  }

  /** Rejects when the own server ends by itself. */
  get broken(): Promise<never> {
    return this.#broken.promise
  }

  /** Throws `usage_invalid` when it is unclear which to join, and what a start throws. */
  async open(): Promise<void> {
    this.#first = await this.#parts.locked(async () => {
      const { dccType, live } = this.#parts
      const selection = joinable(await live(), dccType)
      if (selection.kind === 'several') throw several(selection.instances, dccType)
      return selection.kind === 'one' ? this.#join(selection.instance) : this.#serve()
    })
  }

  /** For the bridge: where the server is now. Never rejects. */
  locate = async (): Promise<Result<Target, string>> => {
    const first = this.#first
    this.#first = null
    if (first !== null) return ok(first)
    if (this.#own !== null) return ok(ownTarget(this.#own))
    try {
      return await this.#parts.locked(() => this.#again())
    } catch (error) {
      return fail(`no server can be started (${messageOf(error)})`)
    }
  }

  /**
   * Returns to the joined server once it, or its next run, is back: `locate` leads there, `moved`
   * is called and the embedded server stops. Never rejects.
   */
  async handBack(moved: () => void): Promise<void> {
    if (this.#awaySinceMs === null) return
    try {
      // Locked: of two that stand in for the same server only one hands over to the other.
      await this.#parts.locked(async () => {
        const found = await this.#returned()
        const own = this.#own
        if (found === null || own === null) return
        this.#own = null
        this.#awaySinceMs = null
        this.#first = this.#join(found)
        moved()
        await own.stop()
      })
    } catch {
      // Looked for again in a moment.
    }
  }

  async stop(): Promise<void> {
    const own = this.#own
    this.#own = null
    await own?.stop()
  }

  /**
   * The joined instance itself, which may only have been stopped for a while, or one of its kind that
   * started since; one without a kind may still get it.
   */
  async #returned(): Promise<Instance | null> {
    const sinceMs = this.#awaySinceMs
    if (sinceMs === null) return null
    const later = (await this.#parts.live()).filter(
      ({ id, startedMs }) =>
        id === this.#joined?.id || (id !== this.#own?.instanceId && startedMs >= sinceMs),
    )
    const kind = this.#joined?.dccType
    const selection = joinable(later, kind === 'unknown' ? undefined : kind)
    return selection.kind === 'one' ? selection.instance : null
  }

  /** The server that was joined is gone. Its next run, or another one, goes before one of our own. */
  async #again(): Promise<Result<Target, string>> {
    const { dccType, live, now, random, takeoverMs } = this.#parts
    if (this.#lostMs === null) {
      this.#lostMs = now()
      // Of several clients that lost it one is the first, and the others join that.
      this.#patienceMs = takeoverMs * (1 + random())
    }
    const instances = await live()
    const facts = { previous: this.#joined, lostMs: this.#lostMs }
    const next =
      facts.previous === null
        ? null
        : findNextRun(instances, { ...facts, previous: facts.previous })
    const selection = joinable(instances, dccType)
    const found = next ?? (selection.kind === 'one' ? selection.instance : null)
    if (found !== null) return ok(this.#join(found))
    if (selection.kind === 'several') return fail('it is unclear which of the running ones to join')
    if (now() - this.#lostMs >= this.#patienceMs) {
      const awaySinceMs = this.#lostMs
      const target = await this.#serve()
      this.#awaySinceMs = awaySinceMs
      return ok(target)
    }
    return fail('the server that was joined has ended; one is started here if none comes back')
  }

  #join(instance: Instance): Target {
    if (this.#joined?.id !== instance.id) this.#parts.joined(instance)
    this.#joined = instance
    this.#lostMs = null
    return targetOf(instance)
  }

  async #serve(): Promise<Target> {
    const server = await this.#parts.start()
    this.#own = server
    this.#lostMs = null
    server.closed.then(
      () => this.#ended(server, new Error('the server ended by itself')),
      (error: unknown) => this.#ended(server, error),
    )
    this.#parts.started(server)
    return ownTarget(server)
  }

  #ended(server: ServeHandle, error: unknown): void {
    if (this.#own === server) this.#broken.reject(error)
  }
}

/** Where it listens: its `url` may lead over a proxy. */
function ownTarget({ hostUrl }: ServeHandle): Target {
  return { url: new URL('/mcp', hostUrl), name: null }
}
