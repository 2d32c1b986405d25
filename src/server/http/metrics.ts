import type { IncomingMessage, ServerResponse } from 'node:http'
import { isLocalPeer, findForwardingHeader } from './trusted-proxies.ts'
import type { AccessEntry } from '../../lib/util/logger.ts'
import { version } from '../../lib/util/version.ts'
import type { AccessLog } from './access-log.ts'

export const metricsPath = '/metrics'

/** A value of the present, with the labels of each of its lines. */
export interface Gauge {
  readonly name: string
  readonly help: string
  readonly values: readonly { readonly label?: string; readonly value: number }[]
  /** The name of the label. */
  readonly by?: string
}

/** First parts of paths: names of users and instances never become labels. */
const routes = new Set(['mcp', 'artefacts', 'instances', 'host', 'page', 'v1', 'healthz', 'readyz'])
const methods = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
  'resources/subscribe',
  'resources/unsubscribe',
])

/** Upper bounds in seconds. */
const buckets = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60]

interface Histogram {
  /** One for each bucket, and one for all that is longer. */
  readonly counts: number[]
  sum: number
}

/**
 * Counts what a server does, for `/metrics` in the text format of Prometheus. Wraps the access log,
 * which hears of every request once.
 */
export class Metrics {
  readonly accessLog: AccessLog
  readonly #role: string
  readonly #gauges: (() => readonly Gauge[])[] = []
  readonly #requests = new Map<string, number>()
  readonly #durations = new Map<string, Histogram>()

  constructor(role: 'serve' | 'gateway' | 'registry', log: AccessLog) {
    this.#role = role
    this.accessLog = entry => {
      this.#count(entry)
      log(entry)
    }
  }

  /** Values that are asked for at each look. */
  add(gauges: () => readonly Gauge[]): void {
    this.#gauges.push(gauges)
  }

  /** A request from this machine, not through a proxy, needs no key. */
  answers({ method, headers, socket }: IncomingMessage): boolean {
    const { remoteAddress, localAddress } = socket
    if (method !== 'GET') return false
    return isLocalPeer(remoteAddress, localAddress) && findForwardingHeader(headers) === null
  }

  send(res: ServerResponse): void {
    const body = Buffer.from(this.text())
    res.writeHead(200, {
      'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
      'Content-Length': body.length,
      'Cache-Control': 'no-store',
    })
    res.end(body)
  }

  text(): string {
    return [
      ...this.#processLines(),
      ...this.#gauges.flatMap(gauges => gauges().flatMap(gaugeLines)),
      ...this.#requestLines(),
      ...this.#durationLines(),
      '',
    ].join('\n')
  }

  #count({ path, route, rpc, status, durationMs, method }: AccessEntry): void {
    const [, first = ''] = path.split('/')
    const label = route ?? (routes.has(first) ? first : 'other')
    const outcome = status === null ? 'cut' : `${Math.floor(status / 100)}xx`
    const key = `route="${label}",status="${outcome}"`
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1)
    const [name = ''] = (rpc ?? '').split(' ')
    // A stream is open for as long as its client wishes.
    if (rpc === undefined || method !== 'POST' || !methods.has(name)) return
    let histogram = this.#durations.get(name)
    if (histogram === undefined) {
      histogram = { counts: Array.from({ length: buckets.length + 1 }, () => 0), sum: 0 }
      this.#durations.set(name, histogram)
    }
    const seconds = durationMs / 1000
    const bucket = buckets.findIndex(bound => seconds <= bound)
    histogram.counts[bucket === -1 ? buckets.length : bucket]!++
    histogram.sum += seconds
  }

  #processLines(): readonly string[] {
    const { user, system } = process.cpuUsage()
    const started = performance.timeOrigin / 1000
    return [
      ...head('service_cli_info', 'gauge', 'The program: always 1.'),
      `service_cli_info{role="${this.#role}",version="${escaped(version)}"} 1`,
      ...head('process_cpu_seconds_total', 'counter', 'CPU time of the process.'),
      `process_cpu_seconds_total ${(user + system) / 1e6}`,
      ...head('process_resident_memory_bytes', 'gauge', 'Memory of the process.'),
      `process_resident_memory_bytes ${process.memoryUsage.rss()}`,
      ...head('process_start_time_seconds', 'gauge', 'Start, in seconds since the epoch.'),
      `process_start_time_seconds ${started}`,
    ]
  }

  #requestLines(): readonly string[] {
    const name = 'service_cli_requests_total'
    const lines = [...this.#requests].map(([labels, count]) => `${name}{${labels}} ${count}`)
    return [...head(name, 'counter', 'Requests that have ended, by route.'), ...lines]
  }

  #durationLines(): readonly string[] {
    const name = 'service_cli_call_seconds'
    const lines = [...this.#durations].flatMap(([rpc, { counts, sum }]) => {
      let total = 0
      const upTo = [...buckets, '+Inf'].map((bound, at) => {
        total += counts[at] ?? 0
        return `${name}_bucket{method="${rpc}",le="${bound}"} ${total}`
      })
      const labels = `{method="${rpc}"}`
      return [...upTo, `${name}_sum${labels} ${sum}`, `${name}_count${labels} ${total}`]
    })
    return [...head(name, 'histogram', 'Time from request to answer, by MCP method.'), ...lines]
  }
}

function gaugeLines({ name, help, values, by }: Gauge): readonly string[] {
  const lines = values.map(({ label, value }) => {
    const labels = by === undefined || label === undefined ? '' : `{${by}="${escaped(label)}"}`
    return `${name}${labels} ${value}`
  })
  return [...head(name, 'gauge', help), ...lines]
}

function head(name: string, type: string, help: string): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
}

function escaped(label: string): string {
  return label.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
