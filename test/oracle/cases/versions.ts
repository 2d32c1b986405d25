import { type Case, message, statelessRevision, product, request, sessionPost, sessionRevisions, shown } from '../case.ts' // prettier-ignore

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
