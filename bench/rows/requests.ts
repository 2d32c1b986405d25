/** What the rows of requests under load share: sessions, the check of equal answers, the loop. */
import { isDeepStrictEqual } from 'node:util'
import type { Load } from '../bench.ts'
import { withServerCpu } from '../compare.ts'
import { askOnce } from '../host-link.ts'
import type { ClosedLoopResult } from '../load/closed-loop.ts'
import { headersOf, requestText, rpcText, sessionHeaders } from '../load/http-text.ts'
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

export interface Call {
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** Texts of POSTs to the MCP endpoint, with the marks the load generator fills. */
export function callTexts(target: Target, calls: readonly Call[]): string[] {
  const place = { ...target.mcp, headers: sessionHeaders }
  return calls.map(({ method, params }) => requestText('POST', place, rpcText(method, params)))
}

export function openSessions(load: Load, target: Target, count: number): Promise<string[]> {
  return load.ask<string[]>('openSessions', { place: target.mcp, count })
}

/** Keeps `sessions.length` connections busy for the time given. */
export async function underLoad(
  load: Load,
  target: Target,
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
  const { completed, elapsedMs, serverCpuMs, p50Ms, p99Ms, loadCpu } = result
  return {
    rps: (completed / elapsedMs) * 1000,
    cpuUs: (serverCpuMs * 1000) / completed,
    bytes: result.bytes / completed,
    mbps: result.bytes / elapsedMs / 1000,
    serverCpu: serverCpuMs / elapsedMs,
    p50Ms,
    p99Ms,
    loadCpu,
  }
}

/** One answer outside the load, compared with what it must carry; says how they differ. */
export async function differenceOf(
  target: Target,
  session: string,
  call: Call,
  expected: unknown,
): Promise<string | undefined> {
  const { method, params } = call
  const { result, bytes } = await askOnce(target, headersOf(session), method, params)
  if (isDeepStrictEqual(result, expected)) return undefined
  const wanted = JSON.stringify(expected).length
  return `${target.name}: the result of ${method} is not the reference's (${bytes} bytes in all, the reference's result ${wanted})`
}
