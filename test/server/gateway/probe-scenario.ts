import { type RequestListener, createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { hostname } from 'node:os'
import { systemClock } from '../../../src/lib/util/time.ts'
import { type GatewayLimits, resolveGatewayLimits } from '../../../src/lib/config/gateway-limits.ts'
import { type ProbeResult, Probes } from '../../../src/server/gateway/probes.ts'
import type { InstanceRecord } from '../../../src/lib/instances/record.ts'
import { until } from '../../helpers/until.ts'
import { ManualTime } from '../../unit/resources/manual-time.ts'
import { type TestDirectory, openTestDirectory } from './fs-harness.ts'
import { makeRecord } from './support.ts'

/** Instances that answer over real sockets, asked when the test moves time. */
export class ProbeScenario {
  readonly under: TestDirectory
  readonly time: ManualTime = new ManualTime()
  /** Run at the end, in this order. */
  readonly closing: (() => unknown)[] = []
  #probes: Probes | null = null

  static async begin(): Promise<ProbeScenario> {
    return new ProbeScenario(await openTestDirectory())
  }

  private constructor(under: TestDirectory) {
    this.under = under
  }

  get probes(): Probes {
    if (this.#probes === null) throw new Error('nobody was registered yet')
    return this.#probes
  }

  /** Registers instances and begins to ask them. Returns their ids. */
  async open(options: {
    limits?: Partial<GatewayLimits>
    isOwn?: (url: URL) => boolean
    records: Partial<InstanceRecord>[]
  }): Promise<string[]> {
    const ids = []
    for (const changes of options.records) {
      const record = makeRecord(changes)
      await this.under.register(record)
      ids.push(record.instance_id)
    }
    await this.under.directory.refresh()
    this.#probes = new Probes({
      directory: this.under.directory,
      hostname: hostname(),
      clock: systemClock,
      ticks: this.time,
      timer: this.time,
      limits: resolveGatewayLimits(options.limits),
      ...(options.isOwn === undefined ? {} : { isOwn: options.isOwn }),
    })
    return ids
  }

  async answering(listener: RequestListener): Promise<string> {
    const server = createServer(listener)
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    this.closing.push(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  }

  /** What says the same to everybody who comes. */
  async talking(bytes: string): Promise<string> {
    const server = createTcpServer(socket => {
      socket.on('error', () => {})
      socket.write(bytes)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    this.closing.push(() => server.close())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  }

  /** Where nobody listens. */
  async freePort(): Promise<string> {
    const url = await this.answering(() => {})
    await this.closing.pop()?.()
    return url
  }

  /** Of the round that is under way; `after`: the one before. */
  async resultOf(id: string, after: ProbeResult | null = null): Promise<ProbeResult> {
    await until(() => this.probes.of(id) !== after, 'it was asked')
    const result = this.probes.of(id)
    if (result === null) throw new Error('it was not asked')
    return result
  }

  async close(): Promise<void> {
    const closed = this.#probes?.close()
    // Who does not answer is given up by a timer.
    this.time.advance(60_000)
    await closed
    await this.under.close()
    for (const close of this.closing) await close()
  }
}
