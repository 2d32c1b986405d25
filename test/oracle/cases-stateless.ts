import { callName, methodCalls } from './cases-messages.ts'
import {
  bothTypes,
  capabilitiesKey,
  type Case,
  clientKey,
  logLevelKey,
  message,
  product,
  request,
  sentinel,
  sessionPost,
  sessionRevisions,
  shown,
  statelessPost,
  statelessRevision,
  versionKey,
} from './requests.ts'

const uri = 'test://static-text'

const metas: [string, Record<string, unknown> | null][] = [
  ['no _meta', null],
  ['no version', { [versionKey]: undefined }],
  ['no capabilities', { [capabilitiesKey]: undefined }],
  ['no clientInfo', { [clientKey]: undefined }],
  ['a null version', { [versionKey]: null }],
  ['list capabilities', { [capabilitiesKey]: [] }],
  ['null capabilities', { [capabilitiesKey]: null }],
  ['unknown capabilities', { [capabilitiesKey]: { other: { a: 1 }, sampling: {} } }],
  ['a text as clientInfo', { [clientKey]: 'x' }],
  ['a clientInfo without version', { [clientKey]: { name: 'a' } }],
  ['a log level', { [logLevelKey]: 'info' }],
  ['an unknown log level', { [logLevelKey]: 'loud' }],
  ['a progress token', { progressToken: 'p' }],
  ['a boolean progress token', { progressToken: true }],
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
  ['no JSON', '{'],
  ['null', 'null'],
  ['no method', message({ id: 1, params: {} })],
  ['array params', request('server/discover', [])],
  ['null params', request('server/discover', null)],
  ['no params', request('server/discover')],
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
  statelessPost({
    name: 'stateless method: initialize',
    rpc: 'initialize',
    params: {
      protocolVersion: statelessRevision,
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    },
  }),
  statelessPost({
    name: 'stateless method: initialize of a session revision',
    rpc: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    },
  }),
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
  sessionPost({
    name: 'stateless body in a session, no version header',
    body: statelessPost({ name: '' }).body ?? '',
  }),
]

const unicode = 'test://bücher/日本'
const base64 = (text: string) => Buffer.from(text).toString('base64')

const methodHeaders = [
  null,
  'server/discover',
  'Server/Discover',
  ' server/discover ',
  'resources/list',
  '',
  sentinel('server/discover'),
]
const versionHeaders = [
  null,
  statelessRevision,
  ` ${statelessRevision} `,
  '2025-11-25',
  '2099-01-01',
  'garbage',
  '',
]

const names: [string, string | null][] = [
  ['absent', null],
  ['the URI', uri],
  ['the URI with white space around', `  ${uri}\t`],
  ['another URI', 'test://static-binary'],
  ['empty', ''],
  ['base64 of the URI', sentinel(uri)],
  ['base64 of another URI', sentinel('test://static-binary')],
  ['base64 with a wrong letter', '=?base64?dGVzd*==?='],
  ['base64 with white space', `=?base64? ${base64(uri)}?=`],
  ['base64 of no UTF-8', `=?base64?${Buffer.from([0xff, 0xfe]).toString('base64')}?=`],
  ['percent-encoded', encodeURIComponent(uri)],
]

const otherNames: [string, string, string | null][] = [
  ['not ASCII, base64', unicode, sentinel(unicode)],
  ['not ASCII, Latin-1', 'test://é', 'test://\xe9'],
  ['not ASCII, percent-encoded', unicode, encodeURI(unicode)],
  ['spaces at the ends, base64', ' test://x ', sentinel(' test://x ')],
  ['itself like a marker, base64', sentinel('x'), sentinel(sentinel('x'))],
]

const nameless: [string, Record<string, unknown>][] = [
  ['no uri', {}],
  ['a numeric uri', { uri: 7 }],
  ['a null uri', { uri: null }],
]

const notes: [string, Record<string, unknown> | null, Record<string, string | null>][] = [
  ['as clients send it', null, { 'Mcp-Method': null }],
  ['with Mcp-Method', null, {}],
  ['with _meta', {}, {}],
  ['with _meta of another version', { [versionKey]: '2099-01-01' }, {}],
  [
    'with _meta and header of another version',
    { [versionKey]: '2099-01-01' },
    { 'MCP-Protocol-Version': '2099-01-01' },
  ],
  [
    'with _meta of a session revision, no header',
    { [versionKey]: '2025-11-25' },
    { 'MCP-Protocol-Version': null },
  ],
  ['with a numeric version', { [versionKey]: 7 }, {}],
]

const filters: [string, Record<string, unknown>][] = [
  [
    'everything',
    {
      notifications: {
        resourcesListChanged: true,
        toolsListChanged: true,
        promptsListChanged: true,
        resourceSubscriptions: ['test://watched-resource'],
      },
    },
  ],
  ['list changes', { notifications: { resourcesListChanged: true } }],
  ['tools alone', { notifications: { toolsListChanged: true } }],
  ['nothing', { notifications: {} }],
  ['no URI', { notifications: { resourceSubscriptions: [] } }],
  ['a URI', { notifications: { resourceSubscriptions: ['test://watched-resource'] } }],
  [
    'a URI twice',
    {
      notifications: {
        resourceSubscriptions: ['test://watched-resource', 'test://watched-resource'],
      },
    },
  ],
  ['a URI that is not there', { notifications: { resourceSubscriptions: ['test://not-yet'] } }],
  ['a URI of an unknown scheme', { notifications: { resourceSubscriptions: ['unheard://of'] } }],
  ['no URI at all', { notifications: { resourceSubscriptions: ['no uri'] } }],
  ['a text for URIs', { notifications: { resourceSubscriptions: 'test://x' } }],
  ['unknown members', { notifications: { other: true } }],
  ['null', { notifications: null }],
  ['no filter', {}],
]

/** Headers that repeat the body, notifications, and streams of 2026-07-28. */
export const statelessHeaderCases: readonly Case[] = [
  ...product(versionHeaders, methodHeaders).map(([version, method]) =>
    statelessPost({
      name: `stateless headers: version ${shown(version)}, Mcp-Method ${shown(method)}`,
      headers: { 'MCP-Protocol-Version': version, 'Mcp-Method': method },
    }),
  ),
  ...names.map(([what, name]) => read(`stateless name: ${what}`, uri, name)),
  ...otherNames.map(([what, asked, name]) => read(`stateless name of a URI: ${what}`, asked, name)),
  ...product(nameless, [null, uri]).map(([[what, params], name]) =>
    statelessPost({
      name: `stateless name, ${what}: ${shown(name)}`,
      rpc: 'resources/read',
      params,
      headers: { 'Mcp-Name': name },
    }),
  ),
  ...['resources/list', 'server/discover'].map(rpc =>
    statelessPost({
      name: `stateless name where none belongs: ${rpc}`,
      rpc,
      headers: { 'Mcp-Name': 'x' },
    }),
  ),
  ...['tools/call', 'prompts/get'].map(rpc =>
    statelessPost({
      name: `stateless name missing: ${rpc}`,
      rpc,
      params: { name: 'x' },
      headers: { 'Mcp-Name': null },
    }),
  ),
  ...product(['notifications/cancelled', 'notifications/unknown'], notes).map(
    ([rpc, [what, meta, headers]]) =>
      statelessPost({
        name: `stateless notification ${rpc}: ${what}`,
        rpc,
        meta,
        headers,
        notification: true,
      }),
  ),
  ...filters.map(([what, params]) =>
    statelessPost({ name: `listen: ${what}`, rpc: 'subscriptions/listen', params }),
  ),
  ...['text', 0].map(id =>
    statelessPost({
      name: `listen: id ${shown(String(id))}`,
      rpc: 'subscriptions/listen',
      params: { notifications: {} },
      id,
    }),
  ),
  statelessPost({
    name: 'listen: Accept application/json',
    rpc: 'subscriptions/listen',
    params: { notifications: {} },
    headers: { Accept: 'application/json' },
  }),
]

function read(name: string, asked: string, header: string | null): Case {
  return statelessPost({
    name,
    rpc: 'resources/read',
    params: { uri: asked },
    headers: { 'Mcp-Name': header },
  })
}
