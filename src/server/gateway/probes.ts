import type { GatewayLimits } from './limits.ts'
import { type Clock, repeat, type Timer } from '../../lib/util/time.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import type {
  DirectoryRecord,
  InstanceChange,
  InstanceDirectory,
  InstanceEntry,
} from './instance-directory.ts'
import { limitText, type ProbeFacts } from './verdict.ts'
import { request } from 'node:http'
import type { LookupFunction } from 'node:net'
import { withoutBrackets } from '../../lib/util/net.ts'
import { errnoOf } from '../../lib/util/errors.ts'
import { userAgent } from '../../lib/util/version.ts'

/** Bytes of the answer of an instance that are read. */
const maxProbeAnswerBytes = 4 * 1024

/** How an instance answered the question whether it is ready. */
export interface ProbeOutcome {
  /** Milliseconds since the epoch. */
  readonly probedMs: number
  /** Of the last answer; null: it never answered. */
  readonly latencyMs: number | null
  /** The last failure, also when it has answered since. */
  readonly lastError: string | null
  readonly lastErrorMs: number | null
}

/** With what the verdict goes by. */
export interface ProbeResult extends ProbeOutcome, ProbeFacts {}

interface ProbesOptions {
  readonly directory: Pick<InstanceDirectory, 'entries' | 'onChange'>
  /** Instances of other machines are not asked. */
  readonly hostname: string
  /** The listener of the gateway itself, which is not asked. Default: none. */
  readonly isOwn?: (url: URL) => boolean
  /** The time of day. */
  readonly clock: Clock
  /** Never goes back. */
  readonly ticks: Clock
  readonly timer: Timer
  readonly limits: GatewayLimits
}

/** Asks every live instance of this machine regularly whether it is ready. */
export class Probes {
  readonly #options: ProbesOptions
  readonly #results = new Map<string, ProbeResult>()
  readonly #listeners = new Set<(instanceId: string) => void>()
  /** Instances that wait for a probe or are being probed: one probe at a time for each. */
  readonly #pending = new Set<string>()
  readonly #waiting: { readonly id: string; readonly url: URL }[] = []
  readonly #running = new Set<Promise<void>>()
  readonly #stops: (() => void)[]
  readonly #asking = new AbortController()
  #closed = false

  constructor(options: ProbesOptions) {
    const { directory, timer, limits } = options
    this.#options = options
    this.#stops = [
      repeat(timer, limits.probeIntervalMs, async () => this.#askAll()),
      directory.onChange(changes => {
        for (const change of changes) this.#follow(change)
      }),
    ]
    this.#askAll()
  }

  /** Why it is not asked, in a few words for people; null: it is. */
  whyNot(entry: InstanceEntry): string | null {
    const url = this.#urlOf(entry)
    return url.ok ? null : url.failure
  }

  /** Null: not probed yet, or not to be probed (`whyNot`). */
  of(instanceId: string): ProbeResult | null {
    return this.#results.get(instanceId) ?? null
  }

  /** Called after each answer or failure. Returns the unsubscribe. */
  onResult(listener: (instanceId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Resolves when no probe is under way. */
  async close(): Promise<void> {
    this.#closed = true
    for (const stop of this.#stops) stop()
    this.#waiting.length = 0
    this.#listeners.clear()
    // A probe that hangs must not delay the close.
    this.#asking.abort()
    await Promise.all(this.#running)
  }

  #follow(change: InstanceChange): void {
    if (!('entry' in change)) return
    const id = change.entry.record.instanceId
    const known = this.of(id)
    if (change.kind === 'gone') this.#results.delete(id)
    // A probe that failed before the instance fell silent says nothing about it when it is back.
    else if (known !== null && !mayAnswer(change.entry)) {
      this.#results.set(id, { ...known, failuresInARow: 0 })
    }
  }

  #askAll(): void {
    const failures = ({ record }: InstanceEntry) => this.of(record.instanceId)?.failuresInARow ?? 0
    // Those that keep their asker waiting come last.
    const entries = this.#options.directory.entries.toSorted((a, b) => failures(a) - failures(b))
    for (const entry of entries) {
      const id = entry.record.instanceId
      const url = this.#urlOf(entry)
      if (!url.ok || this.#pending.has(id)) continue
      this.#pending.add(id)
      this.#waiting.push({ id, url: url.value })
    }
    this.#askNext()
  }

  #urlOf(entry: InstanceEntry): Result<URL, string> {
    if (!mayAnswer(entry)) return fail(`it is ${entry.verdict.health}`)
    const url = probeUrl(entry.record, this.#options.hostname)
    if (!url.ok || this.#options.isOwn?.(url.value) !== true) return url
    return fail('its address is that of this gateway')
  }

  #askNext(): void {
    while (!this.#closed && this.#running.size < this.#options.limits.maxProbes) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      const asking = this.#ask(next.id, next.url).then(() => {
        this.#running.delete(asking)
        this.#pending.delete(next.id)
        this.#askNext()
      })
      this.#running.add(asking)
    }
  }

  async #ask(id: string, url: URL): Promise<void> {
    const { clock, ticks, directory } = this.#options
    const beganMs = ticks.now()
    const answer = await askReady(url, { ...this.#options, signal: this.#asking.signal })
    const before = this.of(id)
    // It may have gone meanwhile.
    const entry = directory.entries.find(({ record }) => record.instanceId === id)
    if (this.#closed || entry === undefined) return
    const probedMs = clock.now()
    this.#results.set(id, {
      failuresInARow: answer.ok || !mayAnswer(entry) ? 0 : (before?.failuresInARow ?? 0) + 1,
      latencyMs: answer.ok ? ticks.now() - beganMs : (before?.latencyMs ?? null),
      lastError: answer.ok ? (before?.lastError ?? null) : answer.failure,
      lastErrorMs: answer.ok ? (before?.lastErrorMs ?? null) : probedMs,
      probedMs,
    })
    for (const listener of this.#listeners) listener(id)
  }
}

function mayAnswer({ verdict }: InstanceEntry): boolean {
  return verdict.health !== 'dead' && verdict.health !== 'stale'
}

type ProbeLimits = Pick<GatewayLimits, 'probeTimeoutMs'>

/**
 * Where to ask an instance whether it is ready, or why it is not asked. Its record may hold any
 * address: only one that is literally of this machine is ever called, and only `/readyz` of it.
 */
export function probeUrl(
  record: Pick<DirectoryRecord, 'mcpUrl' | 'mcpUrlIsLoopback' | 'localUrl' | 'hostname'>,
  hostname: string,
): Result<URL, string> {
  const { mcpUrl, mcpUrlIsLoopback, localUrl } = record
  if (mcpUrl === null) return fail('it answers over its link')
  // Its 127.0.0.1 is not ours.
  if (record.hostname !== hostname) return fail('it runs on another machine')
  const isPlain = mcpUrlIsLoopback && mcpUrl.startsWith('http:')
  if (isPlain) return ok(new URL('/readyz', mcpUrl))
  // Behind a proxy, or with a certificate unknown here, it still has its local address.
  if (localUrl !== null) return ok(new URL('/readyz', localUrl))
  if (!mcpUrlIsLoopback) return fail('its address is not one of this machine alone')
  return fail('its address is not an http one')
}

interface AskParts {
  readonly limits: ProbeLimits
  readonly timer: Timer
  /** Aborted when the answer is no longer needed. */
  readonly signal: AbortSignal
}

/** `GET` once, no redirect followed. The failure is a few words for people; never rejects. */
function askReady(url: URL, { limits, timer, signal }: AskParts): Promise<Result<null, string>> {
  return new Promise(resolve => {
    let bytes = 0
    const asking = request({
      host: withoutBrackets(url.hostname),
      port: url.port || 80,
      path: url.pathname,
      // A new connection each time: accepting it is part of the answer.
      agent: false,
      headers: { accept: 'application/json', 'user-agent': userAgent },
      lookup: loopbackOnly,
      signal,
    })
    const settle = (result: Result<null, string>) => {
      cancel()
      asking.destroy()
      resolve(result)
    }
    const cancel = timer.after(limits.probeTimeoutMs, () =>
      settle(fail(`no answer within ${limitText(limits.probeTimeoutMs)}`)),
    )
    asking.on('error', error => settle(fail(reasonOf(error, url))))
    asking.once('response', response => {
      const status = response.statusCode ?? 0
      const result = status === 200 ? ok(null) : fail(`/readyz answered ${status}`)
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > maxProbeAnswerBytes) settle(result)
      })
      response.once('end', () => settle(result))
      response.on('error', error => settle(fail(reasonOf(error, url))))
    })
    asking.once('upgrade', () => settle(fail('/readyz answered with another protocol')))
    asking.end()
  })
}

/** Resolves `localhost` to loopback, independent of the system's resolver. */
const loopbackOnly: LookupFunction = (_name, options, found) => {
  const all = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
  if (options.all === true) found(null, all)
  else found(null, '127.0.0.1', 4)
}

function reasonOf(error: Error, url: URL): string {
  const code = errnoOf(error) ?? ('code' in error ? String(error.code) : 'unknown error')
  if (code === 'ECONNREFUSED') return `nothing listens at ${url.host}`
  if (code === 'ECONNRESET') return `the connection to ${url.host} was cut`
  if (code.startsWith('HPE_')) return `what answers at ${url.host} does not speak HTTP`
  return `${url.host} cannot be asked (${code})`
}
