import type { Exchange } from './record.ts'

const sessionRevisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
const statelessRevision = '2026-07-28'
const both = 'application/json, text/event-stream'
const hash = 'a'.repeat(64)
const host = { Authorization: 'Bearer {host_token}' }

const uris = [
  'scene://current',
  'scene://delta',
  'scene://delta?since=1',
  'scene://delta?since=99',
  'scene://other',
  'audit://recent',
  'audit://recent?limit=0',
  'audit://recent?limit=x',
  'audit://recent?limit=1&limit=2',
  'AUDIT://recent',
  'capture://current_window',
  'events://session/console',
  'events://session/console?cursor=1&limit=1',
  'events://session/unknown',
  `artefact://sha256/${hash}`,
  'artefact://sha256/ABC',
  'unknown://thing',
  'not a uri',
  'gateway://instances',
  `scene://${'x'.repeat(2050)}`,
]

function rpc(method: string, params?: object, headers: Record<string, string> = {}): Exchange {
  return {
    path: '/mcp',
    headers: { Accept: both, ...headers },
    body: { jsonrpc: '2.0', id: 1, method, ...(params && { params }) },
  }
}

function session(revision: string): Exchange[] {
  const headers = { 'Mcp-Session-Id': '{session}', 'MCP-Protocol-Version': revision }
  const call = (method: string, params?: object) => rpc(method, params, headers)
  return [
    {
      ...rpc('initialize', {
        protocolVersion: revision,
        capabilities: {},
        clientInfo: { name: 'recorder', version: '1' },
      }),
      save: { session: /mcp-session-id: (\S+)/i },
    },
    {
      path: '/mcp',
      headers: { Accept: both, ...headers },
      body: { jsonrpc: '2.0', method: 'notifications/initialized' },
    },
    call('ping'),
    call('resources/list'),
    call('resources/list', { cursor: 'nonsense' }),
    call('resources/templates/list'),
    call('tools/list'),
    call('prompts/list'),
    call('completion/complete', {
      ref: { type: 'ref/resource', uri: 'events://session/{session_id}{?cursor,limit,drain}' },
      argument: { name: 'session_id', value: 'c' },
    }),
    call('resources/read'),
    call('resources/read', { uri: 4 }),
    ...uris.map(uri => call('resources/read', { uri })),
    ...uris.map(uri => call('resources/subscribe', { uri })),
    call('resources/unsubscribe', { uri: 'scene://current' }),
    call('unknown/method'),
    { path: '/mcp', headers: { Accept: 'text/event-stream', ...headers }, method: 'DELETE' },
    call('ping'),
  ]
}

function stateless(
  method: string,
  params: object = {},
  headers: Record<string, string> = {},
): Exchange {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': statelessRevision,
    'io.modelcontextprotocol/clientInfo': { name: 'recorder', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const name: Record<string, string> = 'uri' in params ? { 'Mcp-Name': String(params.uri) } : {}
  const all = {
    'MCP-Protocol-Version': statelessRevision,
    'Mcp-Method': method,
    ...name,
    ...headers,
  }
  return rpc(method, { ...params, _meta }, all)
}

export const mcpExchanges: readonly Exchange[] = [
  ...['/healthz', '/readyz', '/', '/nowhere', '/mcp', '/host', '/host/v1/scene'].map(path => ({
    path,
  })),
  { path: '/.well-known/oauth-client-metadata' },
  { path: '/.well-known/oauth-protected-resource' },
  { path: '/.well-known/oauth-protected-resource/mcp' },
  { path: '/.well-known/oauth-authorization-server' },
  { path: '/healthz', headers: { Host: 'elsewhere.example' } },
  { path: '/healthz', headers: { Origin: 'https://elsewhere.example' } },
  { method: 'OPTIONS', path: '/mcp' },
  { method: 'PUT', path: '/mcp' },
  { path: '/mcp', body: 'not json', headers: { 'Content-Type': 'application/json', Accept: both } },
  { path: '/mcp', body: 'x', headers: { 'Content-Type': 'text/plain', Accept: both } },
  { path: '/mcp', body: {}, headers: { Accept: 'text/html' } },
  { path: '/mcp', body: {}, headers: { Accept: both } },
  { path: '/mcp', body: [], headers: { Accept: both } },
  rpc('ping'),
  rpc('resources/list', undefined, { 'Mcp-Session-Id': 'unknown' }),
  stateless('resources/read', { uri: 'scene://current' }),
  { path: '/host/v1/scene', body: { frame: 1 } },
  { path: '/host/v1/scene', headers: { Authorization: 'Bearer wrong' }, body: { frame: 1 } },
  { path: '/host/v1/scene', headers: { ...host, Origin: 'http://localhost' }, body: { frame: 1 } },
  { path: '/host/v1/scene', headers: host, body: [] },
  { path: '/host/v1/scene', headers: host, body: { objects: [{ id: 'a', x: 1 }], frame: 1 } },
  {
    path: '/host/v1/scene',
    headers: host,
    body: { objects: [{ id: 'a', x: 2 }, { id: 'b' }], frame: 1 },
  },
  {
    path: '/host/v1/audit',
    headers: host,
    body: { records: [{ action: 'render', params: { password: 'x', frame: 3 } }] },
  },
  { path: '/host/v1/audit', headers: host, body: { records: [{}] } },
  {
    path: '/host/v1/events/console',
    headers: host,
    body: {
      events: [
        { source: 'app', stream: 'stdout', message: 'one' },
        { source: 'app', stream: 'stderr', message: 'two' },
      ],
    },
  },
  { path: '/host/v1/events/console', headers: host, body: { events: [{ message: 1 }] } },
  {
    path: '/host/v1/artefacts?display_name=note.txt',
    body: 'a small file',
    headers: { ...host, 'Content-Type': 'text/plain' },
    save: { artefact: /"sha256":"(\w+)"/ },
  },
  { path: '/host/v1/app', headers: host, body: { document: 'shot.blend', dcc_type: 'blender' } },
  { path: '/host/v1/nothing', headers: host, body: {} },
  { path: '/artefacts/sha256/{artefact}' },
  { path: '/artefacts/sha256/{artefact}', headers: { Range: 'bytes=2-6' } },
  { path: '/artefacts/sha256/{artefact}', headers: { Range: 'bytes=90-' } },
  { path: '/artefacts/sha256/{artefact}', method: 'HEAD' },
  { path: '/artefacts/sha256/{artefact}', method: 'POST' },
  { path: `/artefacts/sha256/${hash}` },
  { path: '/artefacts/sha256/ABC' },
  ...sessionRevisions.flatMap(session),
  stateless('server/discover'),
  stateless('resources/list'),
  stateless('resources/templates/list'),
  stateless('tools/list'),
  stateless('unknown/method'),
  stateless('resources/read'),
  ...uris.map(uri => stateless('resources/read', { uri })),
  stateless(
    'resources/read',
    { uri: 'artefact://sha256/{artefact}' },
    { 'Mcp-Name': 'artefact://sha256/{artefact}' },
  ),
  stateless('resources/read', { uri: 'scene://current' }, { 'Mcp-Name': 'other' }),
  stateless('resources/list', {}, { 'Mcp-Method': 'resources/read' }),
  stateless('resources/list', {}, { 'MCP-Protocol-Version': '2025-06-18' }),
  { path: '/host/v1/artefacts/{artefact}', method: 'DELETE', headers: host },
  { path: '/host/v1/artefacts/{artefact}', method: 'DELETE', headers: host },
]

const gatewayUris = [
  'gateway://instances',
  'gateway://instances?include_stale=false',
  'gateway://instances?include_dead=x',
  'gateway://instances?dcc_type=maya',
  'gateway://instances/{serve_instance_id}',

  'gateway://instances/unknown',
  'gateway://diagnostics/process',
  'gateway://diagnostics/audit',
  'gateway://diagnostics/metrics',
  'gateway://catalog',
  'gateway://catalog/nothing',
  'resources://gateway/events',
  'scene://current',
  'gateway://unknown',
]

export const gatewayExchanges: readonly Exchange[] = [
  ...['/healthz', '/readyz', '/', '/artefacts/sha256/x', '/host'].map(path => ({ path })),
  ...session('2025-11-25'),
  stateless('server/discover'),
  stateless('resources/list'),
  stateless('resources/templates/list'),
  ...gatewayUris.map(uri => stateless('resources/read', { uri })),
]
