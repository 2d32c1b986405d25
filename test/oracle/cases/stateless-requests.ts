import { bothTypes, type Case, message, statelessRevision, request, sessionPost, sessionRevisions, shown } from '../case.ts' // prettier-ignore
import {
  capabilitiesKey,
  clientKey,
  logLevelKey,
  statelessPost,
  versionKey,
} from '../stateless-case.ts'
import { callName, methodCalls } from './methods.ts'

const uri = 'test://static-text'

const metas: [string, Record<string, unknown> | null][] = [
  ['no _meta', null],
  ['no version', { [versionKey]: undefined }],
  ['no capabilities', { [capabilitiesKey]: undefined }],
  ['no clientInfo', { [clientKey]: undefined }],
  ['a numeric version', { [versionKey]: 20260728 }],
  ['a null version', { [versionKey]: null }],
  ['list capabilities', { [capabilitiesKey]: [] }],
  ['null capabilities', { [capabilitiesKey]: null }],
  ['text capabilities', { [capabilitiesKey]: 'x' }],
  ['unknown capabilities', { [capabilitiesKey]: { other: { a: 1 }, sampling: {} } }],
  ['a text as clientInfo', { [clientKey]: 'x' }],
  ['an empty clientInfo', { [clientKey]: {} }],
  ['a clientInfo without version', { [clientKey]: { name: 'a' } }],
  ['a log level', { [logLevelKey]: 'info' }],
  ['an unknown log level', { [logLevelKey]: 'loud' }],
  ['a numeric log level', { [logLevelKey]: 1 }],
  ['a progress token', { progressToken: 'p' }],
  ['a boolean progress token', { progressToken: true }],
  ['a trace', { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }],
  ['keys of others', { 'example.com/x': 1, 'io.modelcontextprotocol/other': {} }],
]

const versions = [
  ...sessionRevisions,
  '2024-10-07',
  '1999-01-01',
  '2026-07-27',
  '2026-07-29',
  '2099-01-01',
  'garbage',
  '',
  ` ${statelessRevision}`,
]

const otherBodies: [string, string][] = [
  ['a batch', JSON.stringify([JSON.parse(request('ping'))])],
  ['a stateless batch', `[${statelessPost({ name: '' }).body}]`],
  ['an empty batch', '[]'],
  ['a result', message({ id: 1, result: {} })],
  ['an error', message({ id: 1, error: { code: -1, message: 'x' } })],
  ['no JSON', '{'],
  ['nothing', ''],
  ['null', 'null'],
  ['no method', message({ id: 1, params: {} })],
  ['array params', request('server/discover', [])],
  ['null params', request('server/discover', null)],
  ['no params', request('server/discover')],
  ['text _meta', request('server/discover', { _meta: 'x' })],
  ['null _meta', request('server/discover', { _meta: null })],
]

/** `_meta`, versions, methods and ids of 2026-07-28. */
export const statelessCases: readonly Case[] = [
  ...metas.map(([what, meta]) => statelessPost({ name: `stateless meta: ${what}`, meta })),
  ...metas.map(([what, meta]) =>
    statelessPost({
      name: `stateless meta, read: ${what}`,
      rpc: 'resources/read',
      params: { uri },
      meta,
    }),
  ),
  ...versions.map(version =>
    statelessPost({
      name: `stateless version ${shown(version)}, body and header`,
      meta: { [versionKey]: version },
      headers: { 'MCP-Protocol-Version': version },
    }),
  ),
  ...versions.map(version =>
    statelessPost({
      name: `stateless version ${shown(version)}, body, no header`,
      meta: { [versionKey]: version },
      headers: { 'MCP-Protocol-Version': null },
    }),
  ),
  ...methodCalls.map(([rpc, params]) =>
    statelessPost({
      name: `stateless method: ${callName(rpc, params)}`,
      rpc,
      params: (params ?? {}) as Record<string, unknown>,
    }),
  ),
  statelessPost({ name: 'stateless method: initialize', rpc: 'initialize', params: { protocolVersion: statelessRevision, capabilities: {}, clientInfo: { name: 'a', version: '1' } } }), // prettier-ignore
  statelessPost({ name: 'stateless method: initialize of a session revision', rpc: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } } }), // prettier-ignore
  ...[0, -1, 2 ** 53 - 1, 'text', '', 'ünï"', null, 1.5, true, {}, 2 ** 53].map(id =>
    statelessPost({ name: `stateless id: ${JSON.stringify(id)}`, id }),
  ),
  ...otherBodies.map(([what, body]) =>
    statelessPost({ name: `stateless header with ${what}`, headers: { 'Mcp-Method': null }, body }),
  ),
  ...([bothTypes, null, '*/*', 'application/json', 'text/event-stream', 'text/html'] as const).map(
    accept =>
      statelessPost({
        name: `stateless media: Accept ${shown(accept)}`,
        headers: { Accept: accept },
      }),
  ),
  ...['application/json; charset=utf-8', null, 'text/plain'].map(type =>
    statelessPost({
      name: `stateless media: Content-Type ${shown(type)}`,
      headers: { 'Content-Type': type },
    }),
  ),
  ...(['unknown', 'ended', 'live'] as const).map(session =>
    statelessPost({ name: `stateless with the header of a session that is ${session}`, session }),
  ),
  statelessPost({ name: 'stateless with Last-Event-ID', headers: { 'Last-Event-ID': '1' } }),
  statelessPost({ name: 'stateless, Host evil', headers: { Host: 'evil.example' } }),
  statelessPost({ name: 'stateless, Host localhost', headers: { Host: 'localhost:1' } }),
  statelessPost({ name: 'stateless, Origin evil', headers: { Origin: 'http://evil.example' } }),
  statelessPost({ name: 'stateless, Origin localhost', headers: { Origin: 'http://localhost' } }),
  sessionPost({
    name: 'stateless body in a session, no version header',
    body: statelessPost({ name: '' }).body ?? '',
  }),
]
