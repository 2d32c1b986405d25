import {
  bothTypes,
  type Case,
  message,
  newestSession,
  product,
  request,
  sessionPost,
  sessionRevisions,
  shown,
  statelessRevision,
  withHeaders,
} from './requests.ts'

const acceptHeaders = [
  bothTypes,
  null,
  '*/*',
  'application/json',
  'text/event-stream',
  'application/*, text/*',
  'text/event-stream;q=0.5, application/json;q=0.1',
  'application/json;q=0, text/event-stream',
  'Application/JSON, Text/Event-Stream',
  'text/html',
  '',
]

const contentTypes = [
  'application/json',
  'application/json; charset=utf-8',
  'Application/JSON',
  null,
  'text/plain',
  'text/plain; a=application/json',
  'application/json-rpc',
  'application/x-www-form-urlencoded',
]

/** Accept x Content-Type. */
export const mediaCases: readonly Case[] = product(acceptHeaders, contentTypes).map(
  ([accept, type]) =>
    sessionPost({
      name: `media: Accept ${shown(accept)}, Content-Type ${shown(type)}`,
      headers: { Accept: accept, 'Content-Type': type },
      body: request('ping'),
    }),
)

const versionHeaders = [
  null,
  ...sessionRevisions,
  ` ${sessionRevisions[0]}  `,
  statelessRevision,
  '2024-10-07',
  '1999-01-01',
  '2099-01-01',
  'DRAFT-2026-v1',
  'garbage',
  '',
]

const bodies: [string, string][] = [
  ['a request', request('ping')],
  ['a notification', message({ method: 'notifications/initialized' })],
  ['a response', message({ id: 1, result: {} })],
  [
    'initialize',
    request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    }),
  ],
]

/** `MCP-Protocol-Version` on every session revision, for each kind of message. */
export const versionCases: readonly Case[] = [
  ...product(sessionRevisions, versionHeaders).map(([revision, version]) =>
    sessionPost({
      name: `version header, ${revision} session: a request, ${shown(version)}`,
      revision,
      headers: { 'MCP-Protocol-Version': version },
      body: request('ping'),
    }),
  ),
  ...product(bodies.slice(1, 3), versionHeaders).map(([[what, body], version]) =>
    sessionPost({
      name: `version header, live session: ${what}, ${shown(version)}`,
      headers: { 'MCP-Protocol-Version': version },
      body,
    }),
  ),
  ...product(bodies, versionHeaders).map(([[what, body], version]) =>
    sessionPost({
      name: `version header, no session: ${what}, ${shown(version)}`,
      session: 'none',
      headers: { 'MCP-Protocol-Version': version },
      body,
    }),
  ),
]

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
