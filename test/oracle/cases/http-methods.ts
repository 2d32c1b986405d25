import { type Case, bothTypes, statelessRevision, newestSession, product, request, shown, withHeaders } from '../case.ts' // prettier-ignore

const methods = ['GET', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS']
const states = ['none', 'unknown', 'ended', 'own'] as const
const streamAccepts = [
  null,
  'text/event-stream',
  '*/*',
  'application/json',
  'text/*',
  'text/event-stream;q=0',
  '',
]

/** All that is no POST. */
export const httpMethodCases: readonly Case[] = [
  ...product(methods, states).map(([method, session]) =>
    bare(method, session, `${method}: ${session} session`, { Accept: bothTypes }),
  ),
  ...product(['GET', 'DELETE'], streamAccepts).map(([method, accept]) =>
    bare(method, 'own', `${method}: Accept ${shown(accept)}`, { Accept: accept }),
  ),
  ...product(
    ['GET', 'DELETE'],
    ['2025-03-26', '2024-11-05', '1999-01-01', statelessRevision, ''],
  ).map(([method, version]) =>
    bare(method, 'own', `${method}: version header ${shown(version)}`, {
      Accept: 'text/event-stream',
      'MCP-Protocol-Version': version,
    }),
  ),
  ...['GET', 'DELETE'].map(method =>
    bare(method, 'none', `${method}: stateless version header, no session`, {
      Accept: 'text/event-stream',
      'MCP-Protocol-Version': statelessRevision,
    }),
  ),
  bare('GET', 'streaming', 'GET: a second stream', { Accept: 'text/event-stream' }),
  bare('GET', 'own', 'GET: Last-Event-ID', { Accept: 'text/event-stream', 'Last-Event-ID': '17' }),
  bare('DELETE', 'streaming', 'DELETE: a session with a stream', {}),
  {
    ...bare('PUT', 'own', 'PUT: with a message', { 'Content-Type': 'application/json' }),
    body: request('ping'),
  },
]

function bare(
  method: string,
  session: Case['session'],
  name: string,
  headers: Readonly<Record<string, string | null>>,
): Case {
  return { name, method, session, revision: newestSession, headers: withHeaders({}, headers) }
}
