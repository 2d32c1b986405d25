/** What the rows of requests under load share: sessions, the check of equal answers, the loop. */
import { isDeepStrictEqual } from 'node:util'
import type { Load } from '../bench.ts'
import { withServerCpu, type Entry } from '../compare.ts'
import { askOnce } from '../host-link.ts'
import type { ClosedLoopResult } from '../load/closed-loop.ts'
import { callText, type Call, type Transport } from '../load/transports.ts'
import type { Figures } from '../stats.ts'
import type { Column } from '../table.ts'
import type { Target } from '../targets.ts'

export const requestColumns: readonly Column[] = [
  { title: 'cpu ratio', figure: 'cpuUs', show: 'inverse' },
  { title: 'rps ratio', figure: 'rps', show: 'ratio' },
  { title: 'requests/s', figure: 'rps', show: 'value' },
  { title: 'server us/request', figure: 'cpuUs', show: 'value' },
  { title: 'p50 ms', figure: 'p50Ms', show: 'value' },
  { title: 'p99 ms', figure: 'p99Ms', show: 'value' },
  { title: 'bytes', figure: 'bytes', show: 'value' },
  { title: 'load cpu', figure: 'loadCpu', show: 'value' },
  { title: 'server cpu', figure: 'serverCpu', show: 'value' },
]

/** Texts of POSTs to the MCP endpoint, with the marks the load generator fills. */
export function callTexts(transport: Transport, target: Target, calls: readonly Call[]): string[] {
  return calls.map(call => callText(transport, target.mcp, call))
}

/** One for each connection; empty where the transport has none. */
export function openSessions(
  load: Load,
  target: Target,
  count: number,
  transport: Transport,
): Promise<string[]> {
  if (transport === 'stateless') return Promise.resolve(new Array<string>(count).fill(''))
  return load.ask<string[]>('openSessions', { place: target.mcp, count })
}

/** Keeps `sessions.length` connections busy for the time given. */
export async function underLoad(
  load: Load,
  target: Pick<Target, 'port' | 'cpuMs'>,
  texts: readonly string[],
  sessions: readonly string[],
  milliseconds: number,
): Promise<Figures> {
  const { port } = target
  const result = await withServerCpu(target, () =>
    load.ask<ClosedLoopResult & { loadCpu: number }>('closedLoop', {
      port,
      texts,
      sessions,
      milliseconds,
    }),
  )
  const { completed, elapsedMs, serverCpuMs, p50Ms, p99Ms, maxMs, loadCpu } = result
  return {
    completed,
    rps: (completed / elapsedMs) * 1000,
    cpuUs: (serverCpuMs * 1000) / completed,
    bytes: result.bytes / completed,
    mbps: result.bytes / elapsedMs / 1000,
    serverCpu: serverCpuMs / elapsedMs,
    p50Ms,
    p99Ms,
    maxMs,
    loadCpu,
  }
}

export interface RequestEntry {
  readonly name: string
  readonly transport: Transport
  readonly target: Target
  readonly connections: number
  /** Stores what will be asked for and says what to ask, in turn. */
  readonly prepare: (session: string, notes: string[]) => Promise<readonly Call[]>
  readonly warmMs: number
  readonly measureMs: number
}

/** An entry that asks one server the same calls again and again, on each connection. */
export function requestEntry(load: Load, options: RequestEntry): Entry {
  const { name, transport, target, connections } = options
  let texts: readonly string[] = []
  let sessions: readonly string[] = []
  return {
    name,
    prepare: async notes => {
      sessions = await openSessions(load, target, connections, transport)
      texts = callTexts(transport, target, await options.prepare(sessions[0] ?? '', notes))
      await underLoad(load, target, texts, sessions, options.warmMs)
    },
    measure: () => underLoad(load, target, texts, sessions, options.measureMs),
  }
}

/** Compares one answer outside the load with what it must carry; a difference is a note. */
export async function noteDifference(
  target: Target,
  asked: { readonly transport: Transport; readonly session: string; readonly call: Call },
  expected: unknown,
  notes: string[],
): Promise<void> {
  const { method } = asked.call
  const { result, bytes } = await askOnce(target, asked, asked.call)
  const own = withoutOpening(asked.transport, result)
  if (isDeepStrictEqual(withoutMeta(own), withoutMeta(expected))) return
  const wanted = JSON.stringify(expected).length
  notes.push(
    `${target.name}: the result of ${method} is not the reference's (an answer of ${bytes} bytes; the reference's result has ${wanted})`,
  )
}

/** Facts about a content, such as the time of the scene, differ in each server. */
function withoutMeta(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, each: unknown) => (name === '_meta' ? undefined : each)),
  )
}

/** Without the members that each server of the stateless transport fills in its own way. */
function withoutOpening(transport: Transport, result: unknown): unknown {
  if (transport === 'session') return result
  const { resultType, ttlMs, cacheScope, _meta, ...own } = result as Record<string, unknown>
  return resultType === 'complete' ? own : { resultType, ...own }
}
