import {
  type Case,
  initialize,
  message,
  product,
  request,
  sessionPost,
  sessionRevisions,
  statelessRevision,
} from './requests.ts'

const ids: unknown[] = [0, -1, 7, 2 ** 53 - 1, '', 'text', 'ünïcode "quoted"', 'x'.repeat(500)]
const badIds: unknown[] = [null, 1.5, true, {}, [], 2 ** 53]

const kinds: [string, string | Buffer][] = [
  ['empty', ''],
  ['cut short', '{"jsonrpc":"2.0","id":1'],
  ['not UTF-8', Buffer.from('{"jsonrpc":"2.0","id":"\xff","method":"ping"}', 'latin1')],
  ['byte order mark', `\ufeff${request('ping')}`],
  ['null', 'null'],
  ['a number', '1'],
  ['an empty object', '{}'],
  ['jsonrpc missing', '{"id":1,"method":"ping"}'],
  ['jsonrpc 1.0', '{"jsonrpc":"1.0","id":1,"method":"ping"}'],
  ['method missing', message({ id: 1 })],
  ['method a number', message({ id: 1, method: 1 })],
  ['method empty', request('')],
  ['params an array', request('ping', [])],
  ['params null', request('ping', null)],
  ['params a text', request('ping', 'x')],
  ['params with null _meta', request('ping', { _meta: null })],
  ['params with text _meta', request('ping', { _meta: 'x' })],
  ['params with a progress token', request('ping', { _meta: { progressToken: 'p' } })],
  ['params with a boolean progress token', request('ping', { _meta: { progressToken: true } })],
  ['unknown members', message({ id: 1, method: 'ping', more: true })],
  ['the same member twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'],
  ['nested 60 levels', request('ping', { a: JSON.parse('['.repeat(58) + ']'.repeat(58)) })],
  ['nested 100 levels', request('ping', { a: JSON.parse('['.repeat(100) + ']'.repeat(100)) })],
  ['2 MiB', request('ping', { a: 'x'.repeat(2 * 2 ** 20) })],
  ['a prototype key', '{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{"a":1}}'],
  ['a request with a result', message({ id: 1, method: 'ping', result: {} })],
  ['a notification', message({ method: 'notifications/initialized' })],
  ['a notification named as a request', message({ method: 'ping' })],
  ['a cancellation', message({ method: 'notifications/cancelled', params: { requestId: 99 } })],
  [
    'progress',
    message({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } }),
  ],
  [
    'a notification with array params',
    message({ method: 'notifications/initialized', params: [] }),
  ],
  ['a result', message({ id: 1, result: {} })],
  ['a result without id', message({ result: {} })],
  ['an error', message({ id: 1, error: { code: -1, message: 'x' } })],
  ['an error with null id', message({ id: null, error: { code: -1, message: 'x' } })],
  ['result and error', message({ id: 1, result: {}, error: { code: -1, message: 'x' } })],
]

/** What a body can be, whatever it asks for. */
export const bodyCases: readonly Case[] = [
  ...kinds.map(([what, body]) => sessionPost({ name: `body: ${what}`, body })),
  ...ids.map(id =>
    sessionPost({
      name: `id: ${JSON.stringify(id).slice(0, 40)}`,
      body: request('ping', undefined, id),
    }),
  ),
  ...badIds.map(id =>
    sessionPost({ name: `bad id: ${JSON.stringify(id)}`, body: request('ping', undefined, id) }),
  ),
  ...badIds.map(id =>
    sessionPost({
      name: `bad id of a result: ${JSON.stringify(id)}`,
      body: message({ id, result: {} }),
    }),
  ),
]

const known = { ref: { type: 'ref/resource', uri: 'test://template/{id}/data' } }

/** Method and params. Every name that some revision knows, whether or not a server of resources does. */
export const methodCalls: [string, unknown?][] = [
  ['ping'],
  ['resources/list'],
  ['resources/list', { cursor: '' }],
  ['resources/list', { cursor: 'garbage' }],
  ['resources/list', { cursor: 7 }],
  ['resources/list', { cursor: null }],
  ['resources/templates/list'],
  ['resources/templates/list', { cursor: 'garbage' }],
  ['resources/read', { uri: 'test://static-text' }],
  ['resources/read', { uri: 'test://static-binary' }],
  ['resources/read', { uri: 'test://template/123/data' }],
  ['resources/read', { uri: 'test://nothing-here' }],
  ['resources/read', { uri: 'unheard://of' }],
  ['resources/read', { uri: 'no uri' }],
  ['resources/read', { uri: '' }],
  ['resources/read', { uri: 7 }],
  ['resources/read', { uri: `test://${'x'.repeat(5000)}` }],
  ['resources/read', {}],
  ['resources/read'],
  ['resources/subscribe', { uri: 'test://watched-resource' }],
  ['resources/subscribe', {}],
  ['resources/unsubscribe', { uri: 'test://watched-resource' }],
  ['resources/unsubscribe', {}],
  ['completion/complete', { ...known, argument: { name: 'id', value: '1' } }],
  ['completion/complete', { ...known, argument: { name: 'id', value: 'zzz' } }],
  ['completion/complete', { ...known, argument: { name: 'other', value: '1' } }],
  [
    'completion/complete',
    { ...known, argument: { name: 'id', value: '1' }, context: { arguments: { a: 'b' } } },
  ],
  ['completion/complete', { ...known, argument: { name: 'id' } }],
  [
    'completion/complete',
    {
      ref: { type: 'ref/resource', uri: 'test://unknown/{x}' },
      argument: { name: 'x', value: '' },
    },
  ],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'x', value: '' } },
  ],
  ['completion/complete', { ref: { type: 'ref/other' }, argument: { name: 'x', value: '' } }],
  ['completion/complete', {}],
  ['tools/list'],
  ['tools/list', { cursor: 'x' }],
  ['tools/call', { name: 'test_simple_text' }],
  ['tools/call', { name: 'test_simple_text', arguments: {} }],
  ['tools/call', { name: 'test_error_handling', arguments: {} }],
  ['tools/call', { name: 'test_image_content', arguments: {} }],
  ['tools/call', { name: 'test_simple_text', arguments: { x: 1 } }],
  ['tools/call', { name: 'test_simple_text', arguments: 'x' }],
  ['tools/call', { name: 'x' }],
  ['tools/call', {}],
  ['tools/call'],
  ['prompts/list'],
  ['prompts/get', { name: 'x' }],
  ['logging/setLevel', { level: 'info' }],
  ['server/discover'],
  ['subscriptions/listen', { notifications: {} }],
  ['notifications/initialized'],
  ['unknown/method'],
  ['__proto__'],
]

export function callName(method: string, params: unknown): string {
  return `${method} ${params === undefined ? 'without params' : JSON.stringify(params).slice(0, 150)}`
}

/** Every method on the newest session revision, the ones of resources on all of them. */
export const methodCases: readonly Case[] = product(sessionRevisions, methodCalls)
  .filter(
    ([revision, [method]]) =>
      revision === sessionRevisions[0] || /^(resources|completion|server|tools)/.test(method),
  )
  .map(([revision, [method, params]]) =>
    sessionPost({
      name: `method, ${revision}: ${callName(method, params)}`,
      revision,
      body: request(method, params),
    }),
  )

const pings = (count: number) =>
  Array.from({ length: count }, (_, id) => JSON.parse(request('ping', undefined, id)))
const ping = JSON.parse(request('ping'))
const note = JSON.parse(message({ method: 'notifications/initialized' }))
const result = JSON.parse(message({ id: 9, result: {} }))
const start = JSON.parse(
  request(
    'initialize',
    { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
    2,
  ),
)

const batches: [string, unknown[]][] = [
  ['nothing', []],
  ['one request', [ping]],
  ['100 requests', pings(100)],
  ['101 requests', pings(101)],
  ['a notification', [note]],
  ['a notification and a response', [note, result]],
  ['a request and a notification', [ping, note]],
  ['a request and an unknown method', [ping, JSON.parse(request('unknown', undefined, 'b'))]],
  ['initialize', [start]],
  ['a request and initialize', [ping, start]],
  ['a number', [1]],
  ['a request and no message', [ping, { jsonrpc: '2.0' }]],
  ['a batch', [[ping]]],
]

export const batchCases: readonly Case[] = [
  ...product(sessionRevisions, batches).map(([revision, [what, list]]) =>
    sessionPost({ name: `batch, ${revision}: ${what}`, revision, body: JSON.stringify(list) }),
  ),
  ...batches.map(([what, list]) =>
    sessionPost({
      name: `batch, no session: ${what}`,
      session: 'none',
      body: JSON.stringify(list),
    }),
  ),
]

const params: [string, Record<string, unknown>][] = [
  ...[...sessionRevisions, statelessRevision, '2024-10-07', '2099-01-01', 'garbage', ''].map(
    (protocolVersion): [string, Record<string, unknown>] => [
      `version "${protocolVersion}"`,
      { protocolVersion },
    ],
  ),
  ['no version', { protocolVersion: undefined }],
  ['no capabilities', { capabilities: undefined }],
  ['list capabilities', { capabilities: [] }],
  ['no clientInfo', { clientInfo: undefined }],
  ['a text as clientInfo', { clientInfo: 'x' }],
  ['an empty clientInfo', { clientInfo: {} }],
  [
    'clientInfo with icons',
    {
      clientInfo: {
        name: 'a',
        version: '1',
        title: 'A',
        icons: [{ src: 'https://a.example/i.png' }],
      },
    },
  ],
]

/** How a session can be asked for. */
export const initializeCases: readonly Case[] = [
  ...params.map(([what, changes]) =>
    sessionPost({ name: `initialize: ${what}`, session: 'none', body: initialize(changes) }),
  ),
  ...['text', 0, '', null, 1.5].map(id =>
    sessionPost({
      name: `initialize: id ${JSON.stringify(id)}`,
      session: 'none',
      body: initialize({}, id),
    }),
  ),
  ...product(['unknown', 'ended', 'live'] as const, sessionRevisions).map(
    ([session, protocolVersion]) =>
      sessionPost({
        name: `initialize: with the header of a session that is ${session}, version "${protocolVersion}"`,
        session,
        body: initialize({ protocolVersion }),
      }),
  ),
  sessionPost({
    name: 'initialize: as a notification',
    session: 'none',
    body: message({ method: 'initialize', params: JSON.parse(initialize()).params }),
  }),
  sessionPost({
    name: 'initialize: without params',
    session: 'none',
    body: message({ id: 1, method: 'initialize' }),
  }),
]
