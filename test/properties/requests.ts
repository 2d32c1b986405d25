import fc from 'fast-check'
import { codePoint } from '../helpers/code-point.ts'
import { stateless, statelessMeta } from '../helpers/stateless.ts'
import {
  absent,
  anyJson,
  anyText,
  type Damage,
  members,
  mostly,
  mutated,
  nothing,
  someDamage,
} from './arbitraries.ts'
import { commonHeaders, type Headers, sessionHeaders, statelessHeadersOf } from './headers.ts'

/** A request as it is made up; readable, so that the smallest failing one says what is wrong. */
export interface Made {
  readonly method: string
  readonly path: string
  /** A name may come twice. What is a session's place becomes its id when it is sent. */
  readonly headers: Headers
  readonly body: string
  readonly damage: readonly Damage[]
}

/** Stands for the hash of a stored artefact. */
export const hexPlace = 'f'.repeat(64)

const rpcMethods = [
  'initialize',
  'ping',
  'resources/list',
  'resources/read',
  'resources/read',
  'resources/read',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'server/discover',
  'subscriptions/listen',
  'subscriptions/listen',
  'notifications/initialized',
  'notifications/cancelled',
  'tools/list',
  'toString',
  '',
]

const rightUris = [
  'scene://current',
  'scene://delta?since=1',
  'audit://recent?limit=5',
  'events://session/s1?cursor=1&limit=2',
  'events://session/s1?drain=true',
  `artefact://sha256/${hexPlace}`,
  'capture://current_window?max_width=100',
  'thing://a',
]
const templates = [
  'artefact://sha256/{hex}',
  'events://session/{session_id}{?cursor,limit,drain}',
  'audit://recent{?limit}',
  'thing://{name}',
]

const uri = fc.oneof(
  fc.constantFrom(...rightUris),
  mutated(fc.constantFrom(...rightUris)),
  fc.webUrl({ withQueryParameters: true }),
)
const id = fc.oneof(
  fc.nat(),
  fc.maxSafeInteger(),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom<string | number>('', '1', '__proto__', 0, -1, 2 ** 53 - 1),
)

const sometimes = (oneIn: number, value: fc.Arbitrary<unknown>) => mostly(oneIn, nothing, value)

const completed = members({
  type: mostly(10, fc.constant('ref/resource'), anyJson),
  uri: mostly(6, fc.constantFrom<unknown>(...templates), anyJson),
})
const argument = members({
  name: mostly(6, fc.constantFrom('hex', 'session_id', 'limit', 'name'), anyJson),
  value: mostly(8, anyText, anyJson),
})

/** What a stream of the stateless transport is to be about. */
const filter = members({
  resourcesListChanged: mostly(10, fc.constantFrom<unknown>(true, false, absent), anyJson),
  toolsListChanged: sometimes(10, anyJson),
  resourceSubscriptions: mostly(10, fc.array(uri, { maxLength: 3 }), fc.oneof(anyJson, nothing)),
})

const params = mostly(
  20,
  members({
    uri: mostly(20, uri, anyJson),
    cursor: sometimes(5, anyJson),
    ref: mostly(6, completed, anyJson),
    argument: mostly(6, argument, anyJson),
    context: sometimes(6, fc.oneof(anyJson, members({ arguments: anyJson }))),
    protocolVersion: sometimes(8, anyJson),
    notifications: mostly(4, filter, fc.oneof(anyJson, nothing)),
  }),
  anyJson,
)

/** Those that seldom get past the first check: so often that a few do. */
const rareMethods = Array.from({ length: 3 }, () => 'subscriptions/listen')

const message = members({
  jsonrpc: mostly(60, fc.constant('2.0'), fc.oneof(anyJson, nothing)),
  id: mostly(15, id, fc.oneof(anyJson, nothing)),
  method: mostly(40, fc.constantFrom(...rpcMethods, ...rareMethods), fc.oneof(anyJson, nothing)),
  params: mostly(40, params, nothing),
})

/** What both the envelope and the header name, when they agree. */
const version = mostly(
  12,
  fc.constant(stateless),
  fc.constantFrom('2025-11-25', '2030-01-01', '1999-01-01', ''),
) as fc.Arbitrary<string>

/** The envelope of the stateless transport, whole or not. */
function metaOf(named: string): fc.Arbitrary<unknown> {
  const envelope = fc.record({
    protocolVersion: mostly(20, fc.constant(named), fc.oneof(anyJson, nothing)),
    clientCapabilities: mostly(20, fc.constant({}), fc.oneof(anyJson, nothing)),
    clientInfo: mostly(8, fc.constant({ name: 'p', version: '1' }), fc.oneof(anyJson, nothing)),
  })
  const meta = envelope.map(given => {
    const there = Object.entries(given).map(([name, one]) => [
      name,
      one === absent ? undefined : one,
    ])
    return statelessMeta(Object.fromEntries(there))
  })
  return mostly(20, meta, anyJson)
}

const initialize = fc
  .constantFrom('2025-11-25', '2025-03-26', '1999-01-01', stateless)
  .map(version => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 'p', version: '1' } },
  }))

const target = fc.record({
  method: mostly(
    30,
    fc.constant('POST'),
    fc.constantFrom('GET', 'DELETE', 'PUT', 'OPTIONS', 'HEAD'),
  ),
  path: mostly(50, fc.constant('/mcp'), mutated(fc.constant('/mcp'))),
}) as fc.Arbitrary<{ method: string; path: string }>

const written = (value: unknown) => JSON.stringify(value) ?? ''

/** One message, or a batch, to the session transport. */
const sessionRequest: fc.Arbitrary<Made> = fc
  .record({
    target,
    content: fc.oneof(
      { weight: 10, arbitrary: message.map(written) },
      { weight: 1, arbitrary: initialize.map(written) },
      { weight: 1, arbitrary: fc.array(fc.oneof(message, anyJson), { maxLength: 5 }).map(written) },
    ),
    common: commonHeaders,
    own: sessionHeaders,
    damage: someDamage,
  })
  .map(({ target, content, common, own, damage }) => ({
    ...target,
    headers: [...common, ...own],
    body: content,
    damage,
  }))

/** One message of the stateless transport. */
const statelessRequest: fc.Arbitrary<Made> = fc
  .record({ target, sent: message, version, common: commonHeaders, damage: someDamage })
  .chain(({ sent, version, ...rest }) =>
    fc
      .record({ meta: metaOf(version), own: statelessHeadersOf(sent, version) })
      .map(({ meta, own }) => ({ ...rest, own, whole: withMeta(sent, meta) })),
  )
  .map(({ target, whole, common, own, damage }) => ({
    ...target,
    headers: [...common, ...own],
    body: written(whole),
    damage,
  }))

function withMeta(sent: Readonly<Record<string, unknown>>, meta: unknown): unknown {
  const { params = {} } = sent
  const isObject = typeof params === 'object' && params !== null && !Array.isArray(params)
  return isObject ? { ...sent, params: { ...params, _meta: meta } } : sent
}

/** Any bytes, any JSON. */
const arbitraryBody: fc.Arbitrary<Made> = fc
  .record({
    content: fc.oneof(fc.string({ unit: codePoint }), fc.json(), anyJson.map(written)),
    common: commonHeaders,
    own: fc.oneof(sessionHeaders, statelessHeadersOf({ method: 'ping' }, stateless)),
    damage: fc.oneof(
      someDamage,
      fc
        .uint8Array({ maxLength: 200 })
        .map(bytes => [{ at: 0, cut: 1e6, add: Buffer.from(bytes).toString('latin1') }]),
    ),
  })
  .map(({ content, common, own, damage }) => ({
    method: 'POST',
    path: '/mcp',
    headers: [...common, ...own],
    body: content,
    damage,
  }))

export const mcpRequest: fc.Arbitrary<Made> = fc.oneof(
  { weight: 4, arbitrary: sessionRequest },
  { weight: 4, arbitrary: statelessRequest },
  { weight: 2, arbitrary: arbitraryBody },
)
