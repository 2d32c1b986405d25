/** The session a request belongs to; what is set up before it is sent. */
export type SessionState =
  /** No `Mcp-Session-Id`. */
  | 'none'
  /** An id that never was one. */
  | 'unknown'
  /** One that was deleted. */
  | 'ended'
  /** One that all requests of the revision share. */
  | 'live'
  /** One of its own, for requests that change it. */
  | 'own'
  /** One of its own with an event stream open. */
  | 'streaming'

export interface Case {
  /** `topic: details`; unique. Differences name the requests they are about by it. */
  readonly name: string
  readonly method: string
  readonly session: SessionState
  /** What the session negotiated. */
  readonly revision: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

export const sessionRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
export const newestSession = '2025-11-25'
export const statelessRevision = '2026-07-28'

export const bothTypes = 'application/json, text/event-stream'

type Variant = Partial<Omit<Case, 'headers'>> & {
  name: string
  /** Null takes a header away that is sent otherwise. */
  headers?: Readonly<Record<string, string | null>>
}

/** A POST of a session, as every client sends it, with what the variant changes. */
export function sessionPost(variant: Variant): Case {
  const usual = { 'Content-Type': 'application/json', Accept: bothTypes }
  return {
    method: 'POST',
    session: 'live',
    revision: newestSession,
    ...variant,
    headers: withHeaders(usual, variant.headers),
  }
}

export function message(members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ jsonrpc: '2.0', ...members })
}

export function request(method: string, params?: unknown, id: unknown = 1): string {
  return message({ id, method, ...(params === undefined ? {} : { params }) })
}

export function initialize(
  params: Readonly<Record<string, unknown>> = {},
  id: unknown = 1,
): string {
  const usual = {
    protocolVersion: newestSession,
    capabilities: {},
    clientInfo: { name: 'oracle', version: '1' },
  }
  return request('initialize', { ...usual, ...params }, id)
}

/** The Cartesian product of two lists. */
export function product<A, B>(as: readonly A[], bs: readonly B[]): [A, B][] {
  return as.flatMap(a => bs.map((b): [A, B] => [a, b]))
}

/** Header values short enough to stand in a name. */
export function shown(value: string | null | undefined): string {
  return value === null || value === undefined ? 'absent' : JSON.stringify(value)
}

export function withHeaders(
  usual: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>> = {},
): Record<string, string> {
  const all = Object.entries({ ...usual, ...changes })
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== null))
}
