import { type Case, message, product, request, sessionPost, sessionRevisions } from '../case.ts'

const known = { ref: { type: 'ref/resource', uri: 'test://template/{id}/data' } }

/** Method and params. Every name that some revision knows, whether or not a server of resources does. */
export const methodCalls: [string, unknown?][] = [
  ['ping'],
  ['ping', {}],
  ['resources/list'],
  ['resources/list', {}],
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
  ['resources/read', { uri: null }],
  ['resources/read', { uri: `test://${'x'.repeat(5000)}` }],
  ['resources/read', {}],
  ['resources/read'],
  ['resources/subscribe', { uri: 'test://watched-resource' }],
  ['resources/subscribe', {}],
  ['resources/subscribe', { uri: 7 }],
  ['resources/unsubscribe', { uri: 'test://watched-resource' }],
  ['resources/unsubscribe', {}],
  ['completion/complete', { ...known, argument: { name: 'id', value: '1' } }],
  ['completion/complete', { ...known, argument: { name: 'id', value: '' } }],
  ['completion/complete', { ...known, argument: { name: 'id', value: 'zzz' } }],
  ['completion/complete', { ...known, argument: { name: 'other', value: '1' } }],
  [
    'completion/complete',
    { ...known, argument: { name: 'id', value: '1' }, context: { arguments: { a: 'b' } } },
  ],
  ['completion/complete', { ...known, argument: { name: 'id' } }],
  ['completion/complete', { ...known }],
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
  ['tools/call', { name: 'test_simple_text', arguments: [] }],
  ['tools/call', { name: 'x' }],
  ['tools/call', { name: 7 }],
  ['tools/call', {}],
  ['tools/call'],
  ['prompts/list'],
  ['prompts/get', { name: 'x' }],
  ['logging/setLevel', { level: 'info' }],
  ['roots/list'],
  ['sampling/createMessage', {}],
  ['elicitation/create', {}],
  ['tasks/list'],
  ['server/discover'],
  ['subscriptions/listen', { notifications: {} }],
  ['notifications/initialized'],
  ['unknown/method'],
  ['PING'],
  ['toString'],
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
  ['three requests', pings(3)],
  ['100 requests', pings(100)],
  ['101 requests', pings(101)],
  ['a notification', [note]],
  ['a response', [result]],
  ['a notification and a response', [note, result]],
  ['a request and a notification', [ping, note]],
  ['a request and an unknown method', [ping, JSON.parse(request('unknown', undefined, 'b'))]],
  ['initialize', [start]],
  ['a request and initialize', [ping, start]],
  ['a number', [1]],
  ['a request and a number', [ping, 1]],
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
