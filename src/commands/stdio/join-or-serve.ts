import type { Instance } from '../../lib/instances/instance.ts'
import { findNextRun } from '../../lib/instances/live-instances.ts'
import { type Selection, selectInstance } from '../../lib/instances/select-instance.ts'
import type { Target } from '../../lib/mcp/bridge/context.ts'
import { messageOf } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import type { ServeHandle } from '../../server/host/serve-options.ts'
import { several } from './choose-instance.ts'
import { targetOf } from './locate-instance.ts'

interface JoinOrServeParts {
  /** Undefined: any kind. */
  readonly dccType: string | undefined
  /** Flags that have no effect when a running server is joined. */
  readonly ownOnly: readonly string[]
  readonly live: () => Promise<Instance[]>
  readonly start: () => Promise<ServeHandle>
  /** Runs `work` under a lock of the user, so that two clients do not start two servers. */
  readonly locked: <T>(work: () => Promise<T>) => Promise<T>
  /** A server starts here when the joined one is away for once to twice this time. Default: 3 s. */
  readonly takeoverMs?: number
  readonly log: Logger
}

/** Joins a running server of the user, or starts one in this process. */
export class JoinOrServe {
  /** Rejects when the server in this process ends by itself. */
  readonly failed: Promise<never>
  readonly #fail: (error: unknown) => void
  readonly #parts: JoinOrServeParts
  #own: ServeHandle | null = null
  #joined: Instance | null = null
  /** When the joined server was missed first. */
  #lostMs: number | null = null
  #patienceMs = 0
  #isOpen = false

  constructor(parts: JoinOrServeParts) {
    const { promise, reject } = Promise.withResolvers<never>()
    promise.catch(() => {})
    this.failed = promise
    this.#fail = reject
    this.#parts = parts
  }

  /** Throws `usage_invalid` when several servers match, and the errors of a start. */
  async open(): Promise<void> {
    const { dccType, live, locked } = this.#parts
    await locked(async () => {
      const selection = joinable(await live(), dccType)
      if (selection.kind === 'several') throw several(selection.instances, dccType)
      if (selection.kind === 'one') this.#join(selection.instance)
      else await this.#serve()
    })
  }

  /** Finds the current server for the bridge. */
  locate = async (): Promise<Result<Target, string>> => {
    // The local address: `url` may be that of a proxy.
    if (this.#own !== null) return ok({ url: new URL('/mcp', this.#own.hostUrl), name: null })
    const isFirst = !this.#isOpen
    this.#isOpen = true
    if (isFirst && this.#joined !== null) return ok(targetOf(this.#joined))
    try {
      return await this.#parts.locked(() => this.#again())
    } catch (error) {
      return fail(`cannot start a server (${messageOf(error)})`)
    }
  }

  async stop(): Promise<void> {
    const own = this.#own
    this.#own = null
    await own?.stop()
  }

  /** Joins the next run of the joined server or another one, else starts a server. */
  async #again(): Promise<Result<Target, string>> {
    const { dccType, live, takeoverMs = 3000 } = this.#parts
    if (this.#lostMs === null) {
      this.#lostMs = Date.now()
      // A random delay, so that one client starts a server and the others join it.
      this.#patienceMs = takeoverMs * (1 + Math.random())
    }
    const instances = await live()
    const facts = { previous: this.#joined, lostMs: this.#lostMs }
    const { previous } = facts
    const next = previous === null ? null : findNextRun(instances, { ...facts, previous })
    const selection = joinable(instances, dccType)
    const found = next ?? (selection.kind === 'one' ? selection.instance : null)
    if (found !== null) return ok(this.#join(found))
    if (selection.kind === 'several') {
      return fail('several servers run; it is unclear which one to join')
    }
    if (Date.now() - this.#lostMs < this.#patienceMs) {
      return fail('the joined server does not answer; a new one starts unless it comes back')
    }
    await this.#serve()
    return this.locate()
  }

  #join(instance: Instance): Target {
    const { log, ownOnly } = this.#parts
    if (this.#joined?.id !== instance.id) {
      const { url, id, dccType, displayName: name } = instance
      log.info({ url, instance: id, dcc_type: dccType, name }, 'joined the running server')
      if (ownOnly.length > 0) {
        const flags = ownOnly.join(' ')
        log.warn({ flags }, 'these flags have no effect: the server was already running')
      }
    }
    this.#joined = instance
    this.#lostMs = null
    return targetOf(instance)
  }

  async #serve(): Promise<void> {
    const server = await this.#parts.start()
    this.#own = server
    const ended = (error: unknown): void => {
      if (this.#own === server) this.#fail(error)
    }
    server.closed.then(() => ended(new Error('the server ended by itself')), ended)
    const { url, instanceId, hostUrl, hostTokenFile } = server
    const facts = { url, instance: instanceId, host_url: hostUrl, host_token_file: hostTokenFile }
    this.#parts.log.info(facts, 'started a server that ends with this client')
  }
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
