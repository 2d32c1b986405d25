import { type Case, message, product, request, sessionPost } from '../case.ts'

const ids: unknown[] = [0, -1, 7, 2 ** 53 - 1, '', 'text', 'ünïcode "quoted"', 'x'.repeat(500)]
const badIds: unknown[] = [null, 1.5, true, {}, [], 2 ** 53]

const kinds: [string, string | Buffer][] = [
  ['empty', ''],
  ['white space', ' \n'],
  ['cut short', '{"jsonrpc":"2.0","id":1'],
  ['two messages in a row', `${request('ping')}\n${request('ping')}`],
  ['not UTF-8', Buffer.from('{"jsonrpc":"2.0","id":"\xff","method":"ping"}', 'latin1')],
  ['UTF-16', Buffer.from(request('ping'), 'utf16le')],
  ['byte order mark', `\ufeff${request('ping')}`],
  ['a comment', `/* */${request('ping')}`],
  ['NaN', '{"jsonrpc":"2.0","id":NaN,"method":"ping"}'],
  ['null', 'null'],
  ['true', 'true'],
  ['a number', '1'],
  ['a text', '"ping"'],
  ['an empty object', '{}'],
  ['jsonrpc missing', '{"id":1,"method":"ping"}'],
  ['jsonrpc 1.0', '{"jsonrpc":"1.0","id":1,"method":"ping"}'],
  ['jsonrpc a number', '{"jsonrpc":2.0,"id":1,"method":"ping"}'],
  ['method missing', message({ id: 1 })],
  ['method a number', message({ id: 1, method: 1 })],
  ['method null', message({ id: 1, method: null })],
  ['method empty', request('')],
  ['params an array', request('ping', [])],
  ['params null', request('ping', null)],
  ['params a text', request('ping', 'x')],
  ['params with null _meta', request('ping', { _meta: null })],
  ['params with text _meta', request('ping', { _meta: 'x' })],
  ['params with a progress token', request('ping', { _meta: { progressToken: 'p' } })],
  ['params with a boolean progress token', request('ping', { _meta: { progressToken: true } })],
  ['unknown params', request('ping', { more: 1 })],
  ['unknown members', message({ id: 1, method: 'ping', more: true })],
  ['the same member twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'],
  ['nested 60 levels', request('ping', { a: JSON.parse('['.repeat(58) + ']'.repeat(58)) })],
  ['nested 100 levels', request('ping', { a: JSON.parse('['.repeat(100) + ']'.repeat(100)) })],
  ['2 MiB', request('ping', { a: 'x'.repeat(2 * 2 ** 20) })],
  ['a prototype key', '{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{"a":1}}'],
  ['a request with a result', message({ id: 1, method: 'ping', result: {} })],
  ['a request with an error', message({ id: 1, method: 'ping', error: { code: 1, message: 'x' } })],
  ['a notification', message({ method: 'notifications/initialized' })],
  ['an unknown notification', message({ method: 'notifications/unknown' })],
  ['a notification named as a request', message({ method: 'ping' })],
  ['a cancellation', message({ method: 'notifications/cancelled', params: { requestId: 99 } })],
  ['a cancellation of nothing', message({ method: 'notifications/cancelled' })],
  [
    'progress',
    message({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } }),
  ],
  ['roots changed', message({ method: 'notifications/roots/list_changed' })],
  [
    'a notification with array params',
    message({ method: 'notifications/initialized', params: [] }),
  ],
  ['a result', message({ id: 1, result: {} })],
  ['a result for a text id', message({ id: 'x', result: { a: 1 } })],
  ['an array as result', message({ id: 1, result: [] })],
  ['a result without id', message({ result: {} })],
  ['an error', message({ id: 1, error: { code: -1, message: 'x' } })],
  ['an error without id', message({ error: { code: -1, message: 'x' } })],
  ['an error with null id', message({ id: null, error: { code: -1, message: 'x' } })],
  ['an error without message', message({ id: 1, error: { code: -1 } })],
  ['result and error', message({ id: 1, result: {}, error: { code: -1, message: 'x' } })],
]

/** What a body can be, whatever it asks for. */
export const bodyCases: readonly Case[] = [
  ...product(['live', 'none'] as const, kinds).map(([session, [what, body]]) =>
    sessionPost({ name: `body, ${session} session: ${what}`, session, body }),
  ),
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
