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
  /** Runs `work` under a lock of the user, so that two clients do not start two servers. */
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
 * The instance that a client joins: one of the given kind, else one without a kind, which serves
 * any application. Without a kind, the only instance.
 */
function joinable(instances: Instance[], dccType: string | undefined): Selection {
  if (dccType === undefined) return selectInstance(instances, undefined)
  const same = instances.filter(instance => instance.dccType === dccType)
  const any = instances.filter(instance => instance.dccType === 'unknown')
  return selectInstance(same.length > 0 ? same : any, undefined)
}

/** Joins a running server of the user, or starts one in this process. */
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

  /** Rejects when the embedded server ends by itself. */
  get broken(): Promise<never> {
    return this.#broken.promise
  }

  /** Throws `usage_invalid` when several servers match, and the errors of a start. */
  async open(): Promise<void> {
    this.#first = await this.#parts.locked(async () => {
      const { dccType, live } = this.#parts
      const selection = joinable(await live(), dccType)
      if (selection.kind === 'several') throw several(selection.instances, dccType)
      return selection.kind === 'one' ? this.#join(selection.instance) : this.#serve()
    })
  }

  /** Finds the current server for the bridge. Never rejects. */
  locate = async (): Promise<Result<Target, string>> => {
    const first = this.#first
    this.#first = null
    if (first !== null) return ok(first)
    if (this.#own !== null) return ok(ownTarget(this.#own))
    try {
      return await this.#parts.locked(() => this.#again())
    } catch (error) {
      return fail(`cannot start a server (${messageOf(error)})`)
    }
  }

  /**
   * Returns to the joined server once it, or its next run, is back: `locate` returns it, `moved`
   * is called and the embedded server stops. Never rejects.
   */
  async handBack(moved: () => void): Promise<void> {
    if (this.#awaySinceMs === null) return
    try {
      // The lock keeps two replacement servers from handing over to each other.
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
      // The next call tries again.
    }
  }

  async stop(): Promise<void> {
    const own = this.#own
    this.#own = null
    await own?.stop()
  }

  /**
   * The joined instance, which may only have been suspended, or one that started since of the same
   * kind or without a kind.
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

  /**
   * After the loss of the joined server: joins its next run or another one, else starts a server.
   */
  async #again(): Promise<Result<Target, string>> {
    const { dccType, live, now, random, takeoverMs } = this.#parts
    if (this.#lostMs === null) {
      this.#lostMs = now()
      // A random delay, so that one client starts a server and the others join it.
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
    if (selection.kind === 'several')
      return fail('several servers run; it is unclear which one to join')
    if (now() - this.#lostMs >= this.#patienceMs) {
      const awaySinceMs = this.#lostMs
      const target = await this.#serve()
      this.#awaySinceMs = awaySinceMs
      return ok(target)
    }
    return fail('the joined server does not answer; a new one starts unless it comes back')
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

/** The local address: `url` may be that of a proxy. */
function ownTarget({ hostUrl }: ServeHandle): Target {
  return { url: new URL('/mcp', hostUrl), name: null }
}
