// What the packed library does for a plain JavaScript host; run where the package is installed.
import {
  artefactPutBytes,
  AuditLog,
  McpHttpServer,
  ResourceNotFound,
  SessionEventBuffer,
} from 'service-cli'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const globals = [globalThis.Request, globalThis.Response]
const registryDir = await mkdtemp(join(tmpdir(), 'library-data-'))
const server = new McpHttpServer({ registryDir, enableArtefactResources: true })
const resources = server.resources()
const log = new AuditLog()
resources.wireAuditLog(log)
resources.registerSessionEventBuffer(new SessionEventBuffer({ sessionId: 's1' }))
resources.addProducer({
  scheme: 'memo',
  list: () => [{ uri: 'memo://1', name: 'One' }],
  read(uri) {
    if (uri !== 'memo://1') throw new ResourceNotFound(uri)
    return [{ uri, text: 'remember' }]
  },
})
const root = join(registryDir, 'dcc-mcp-artefacts')
const { uri } = await artefactPutBytes(Buffer.from('hello'), { root })
const { url } = await server.start()

const headers = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
}
async function call(method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = await fetch(url, { method: 'POST', headers, body })
  headers['Mcp-Session-Id'] ??= answer.headers.get('mcp-session-id')
  return (await answer.json()).result
}
await call('initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'plain', version: '1' },
})
const { resources: listed } = await call('resources/list')
const read = async uri => (await call('resources/read', { uri })).contents[0]
resources.setScene({ frame: 1 })
const scene = JSON.parse((await read('scene://current')).text)
const memo = (await read('memo://1')).text
const { blob } = await read(uri)
const stream = await fetch(url, { headers: { ...headers, Accept: 'text/event-stream' } })
const subscribed = await call('resources/subscribe', { uri: 'scene://current' })
resources.setScene({ frame: 2 })
let text = ''
for await (const chunk of stream.body.pipeThrough(new TextDecoderStream())) {
  text += chunk
  if (text.includes('resources/updated')) break
}
const update = JSON.parse(/data: (.*updated.*)/.exec(text)[1]).params.uri
await fetch(new URL('/readyz', url))
const keepsGlobals = globals[0] === Request && globals[1] === Response
await server.stop()
await rm(registryDir, { recursive: true })
const uris = listed
  .map(each => (each.uri.startsWith('artefact:') ? 'artefact:' : each.uri))
  .filter(each => each !== 'scene://delta')
console.log(JSON.stringify({ uris, memo, blob, scene, subscribed, update, keepsGlobals }))
