import type { Context } from 'hono'
import type { AccessEntry } from '../../lib/util/logger.ts'
import { version } from '../../lib/util/version.ts'
import type { AccessLog } from './access-log.ts'

export const metricsPath = '/metrics'

/** What stands behind the name of the metric, and the value. */
type Sample = readonly [labels: string, value: number]

/** A value of the present. */
export interface Gauge {
  readonly name: string
  readonly help: string
  readonly samples: readonly Sample[]
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

/**
 * Counts what a server does, for `/metrics` in the text format of Prometheus. Wraps the access log,
 * which hears of every request once.
 */
export class Metrics {
  readonly accessLog: AccessLog
  readonly #role: string
  readonly #gauges: (() => readonly Gauge[])[] = []
  readonly #requests = new Map<string, number>()
  readonly #calls = new Map<string, { count: number; seconds: number }>()

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

  /** Answers with all of them. */
  send(c: Context): Response {
    const info = `{role="${this.#role}",version="${version}"}`
    const calls = [...this.#calls].flatMap(([rpc, { count, seconds }]): Sample[] => [
      [`_sum{method="${rpc}"}`, seconds],
      [`_count{method="${rpc}"}`, count],
    ])
    const blocks = [
      block('service_cli_info', 'gauge', 'The program: always 1.', [[info, 1]]),
      ...this.#gauges.flatMap(gauges =>
        gauges().map(({ name, help, samples }) => block(name, 'gauge', help, samples)),
      ),
      block('service_cli_requests_total', 'counter', 'Requests that have ended.', this.#requests),
      block('service_cli_call_seconds', 'summary', 'Time from request to answer.', calls),
    ]
    return c.body(blocks.join(''), 200, {
      'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
      'Cache-Control': 'no-store',
    })
  }

  #count({ path, route, rpc, status, durationMs, method }: AccessEntry): void {
    const [, first = ''] = path.split('/')
    const label = route ?? (routes.has(first) ? first : 'other')
    const outcome = status === null ? 'cut' : `${Math.floor(status / 100)}xx`
    const key = `{route="${label}",status="${outcome}"}`
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1)
    const [name = ''] = (rpc ?? '').split(' ')
    // A stream is open for as long as its client wishes.
    if (rpc === undefined || method !== 'POST' || !methods.has(name)) return
    const call = this.#calls.get(name) ?? { count: 0, seconds: 0 }
    call.count++
    call.seconds += durationMs / 1000
    this.#calls.set(name, call)
  }
}

function block(name: string, type: string, help: string, samples: Iterable<Sample>): string {
  const lines = Array.from(samples, ([labels, value]) => `${name}${labels} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}
