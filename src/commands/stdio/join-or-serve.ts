import { join } from 'node:path'
import { withFileLock } from '../../lib/config/private-file.ts'
import { findNextRun, liveInstances, localUrlOf } from '../../lib/instances/live-instances.ts'
import type { InstanceRecord } from '../../lib/instances/record.ts'
import type { Target } from '../../lib/mcp/bridge/connection.ts'
import { messageOf } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import type { ServeHandle } from '../../server/host/serve-options.ts'
import { several } from '../choose-instance.ts'

/** A server in this process. */
type OwnServer = Pick<ServeHandle, 'url' | 'hostUrl' | 'hostTokenFile' | 'instanceId'> & {
  stop(): Promise<unknown>
}

/** Joins a running server of the user, or starts one in this process. */
export class JoinOrServe {
  readonly #registryDir: string
  readonly #dccType: string | undefined
  readonly #start: () => Promise<OwnServer>
  readonly #log: Logger
  readonly #takeoverMs: number
  #own: OwnServer | null = null
  #joined: InstanceRecord | null = null
  /** When the joined server was missed first. */
  #lostMs: number | null = null

  /**
   * `dccType` is the kind of server to join; undefined for any. A server starts here when the joined
   * one is away for once to twice `takeoverMs`.
   */
  constructor(
    registryDir: string,
    dccType: string | undefined,
    start: () => Promise<OwnServer>,
    log: Logger,
    takeoverMs = 3000,
  ) {
    this.#registryDir = registryDir
    this.#dccType = dccType
    this.#start = start
    this.#log = log
    // A random delay, so that one client starts a server and the others join it.
    this.#takeoverMs = takeoverMs * (1 + Math.random())
  }

  /** Throws `usage_invalid` when several servers match, and the errors of a start. */
  async open(): Promise<void> {
    await this.#locked(async () => {
      const found = joinable(await this.#live(), this.#dccType)
      const [instance] = found
      if (found.length > 1) throw several(found, this.#dccType)
      if (instance === undefined) await this.#serve()
      else this.#join(instance)
    })
  }

  /** Finds the current server for the bridge. */
  locate = async (): Promise<Result<Target, string>> => {
    if (this.#own !== null) return ok(ownTarget(this.#own))
    try {
      return await this.#locked(() => this.#find())
    } catch (error) {
      return fail(`cannot start a server (${messageOf(error)})`)
    }
  }

  async stop(): Promise<void> {
    await this.#own?.stop()
  }

  /** The joined server, its next run or another one; else a server starts here after a while. */
  async #find(): Promise<Result<Target, string>> {
    const instances = await this.#live()
    const previous = this.#joined
    const lostMs = this.#lostMs ?? Date.now()
    const next = previous && findNextRun(instances, previous, lostMs)
    const [other, ...more] = joinable(instances, this.#dccType)
    const found = next ?? (more.length === 0 ? other : undefined)
    if (found !== undefined) return ok(this.#join(found))
    if (more.length > 0) return fail('several servers run; it is unclear which one to join')
    this.#lostMs = lostMs
    if (Date.now() - lostMs >= this.#takeoverMs) return ok(await this.#serve())
    return fail('the joined server does not answer; a new one starts unless it comes back')
  }

  #live(): Promise<InstanceRecord[]> {
    return liveInstances(this.#registryDir, this.#log)
  }

  /** Two clients must not start two servers. */
  #locked<T>(work: () => Promise<T>): Promise<T> {
    return withFileLock(join(this.#registryDir, 'stdio.lock'), work)
  }

  #join(instance: InstanceRecord): Target {
    const { instance_id: id, dcc_type, display_name: name } = instance
    const url = localUrlOf(instance)
    if (this.#joined?.instance_id !== id) {
      const facts = { url: url.href, instance: id, dcc_type, name }
      this.#log.info(facts, 'joined the running server, whose flags apply')
    }
    this.#joined = instance
    this.#lostMs = null
    return { url }
  }

  async #serve(): Promise<Target> {
    const server = await this.#start()
    this.#own = server
    const { url, instanceId, hostUrl, hostTokenFile } = server
    const facts = { url, instance: instanceId, host_url: hostUrl, host_token_file: hostTokenFile }
    this.#log.info(facts, 'started a server that ends with this client')
    return ownTarget(server)
  }
}

/** The local address: `url` may be that of a proxy. */
function ownTarget({ hostUrl }: OwnServer): Target {
  return { url: new URL('/mcp', hostUrl) }
}

/**
 * The instances that a client may join: those of the given kind, else those without a kind, which
 * serve any application. Without a kind, all of them.
 */
function joinable(instances: InstanceRecord[], dccType: string | undefined): InstanceRecord[] {
  if (dccType === undefined) return instances
  const same = instances.filter(instance => instance.dcc_type === dccType)
  const any = instances.filter(instance => instance.dcc_type === 'unknown')
  return same.length > 0 ? same : any
}
