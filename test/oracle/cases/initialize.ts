import { type Case, initialize, message, statelessRevision, product, sessionPost, sessionRevisions } from '../case.ts' // prettier-ignore

const params: [string, Record<string, unknown>][] = [
  ...[...sessionRevisions, statelessRevision, '2024-10-07', '2099-01-01', 'garbage', ''].map(
    (protocolVersion): [string, Record<string, unknown>] => [
      `version "${protocolVersion}"`,
      { protocolVersion },
    ],
  ),
  ['no version', { protocolVersion: undefined }],
  ['a numeric version', { protocolVersion: 20251125 }],
  ['no capabilities', { capabilities: undefined }],
  ['list capabilities', { capabilities: [] }],
  ['null capabilities', { capabilities: null }],
  ['unknown capabilities', { capabilities: { roots: {}, tasks: {}, other: { a: 1 } } }],
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
  ['a progress token', { _meta: { progressToken: 1 } }],
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
