import { expect } from 'chai'
import {
  CompleteResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ReadResourceResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import {
  artefactPutBytes,
  AuditLog,
  type ResourceProducer,
  SessionEventBuffer,
} from '../../src/index.ts'
import { sessionRevisions } from '../../src/server/mcp/sessions.ts'
import { RawSession } from '../helpers/mcp.ts'
import { callStateless, stateless } from '../helpers/stateless.ts'
import { useArtefacts } from './support.ts'

const photos: ResourceProducer = {
  scheme: 'photo',
  list: () => [
    {
      uri: 'photo://1',
      name: '1',
      annotations: { audience: ['user'], priority: 1, lastModified: '2026-01-01T00:00:00Z' },
    },
  ],
  read: uri => [
    { uri, text: 'no type' },
    { uri, blob: new Uint8Array(4) },
  ],
  templates: () => [{ uriTemplate: 'photo://{number}', name: 'By number' }],
}

describe('every answer about resources', () => {
  const log = new AuditLog()
  const section = useArtefacts({}, server => {
    server.resources().wireAuditLog(log)
    server.resources().addProducer(photos)
  })
  before(async () => {
    log.record({ action: 'mesh.create' })
    const buffer = new SessionEventBuffer({ sessionId: 'render-12' })
    buffer.append({ source: 'maya', stream: 'stdout', message: 'frame 1' })
    section.server.resources().registerSessionEventBuffer(buffer)
    await artefactPutBytes(Buffer.from('a'), { root: section.root })
  })

  for (const revision of [stateless, ...sessionRevisions]) {
    it(`has the shape of ${revision}`, async () => {
      section.server.resources().setScene({ objects: [{ id: 1, name: 'Cube', type: 'mesh' }] })
      await checkShapes(section.url, revision)
    })
  }
})

type Call = (method: string, params?: Record<string, unknown>) => Promise<any>

async function callAs(url: string, revision: string): Promise<Call> {
  if (revision === stateless) {
    return async (method, params) => (await callStateless(url, method, params)).json.result
  }
  const session = await RawSession.open(url, revision)
  return async (method, params) => (await session.call(method, params)).result
}

async function checkShapes(url: string, revision: string): Promise<void> {
  const result = await callAs(url, revision)

  const listed = await result('resources/list')
  ListResourcesResultSchema.parse(listed)
  expect(listed.resources).to.have.length(6)

  const templates = await result('resources/templates/list')
  ListResourceTemplatesResultSchema.parse(templates)

  for (const { uri, size, mimeType } of listed.resources) {
    const read = await result('resources/read', { uri })
    ReadResourceResultSchema.parse(read)
    const [first] = read.contents
    if (mimeType !== undefined) expect(first.mimeType, uri).to.equal(mimeType)
    const bytes = first.text === undefined ? Buffer.from(first.blob, 'base64') : first.text
    if (size !== undefined) expect(Buffer.byteLength(bytes), uri).to.equal(size)
  }

  for (const { uriTemplate: uri } of templates.resourceTemplates) {
    const names = Array.from(String(uri).matchAll(/[a-z_]+(?=[,}])/g), ([name]) => name)
    expect(names, uri).not.to.have.length(0)
    for (const name of names) {
      const argument = { name, value: '' }
      const asked = { ref: { type: 'ref/resource', uri }, argument, context: { arguments: {} } }
      const completed = await result('completion/complete', asked)
      CompleteResultSchema.parse(completed)
    }
  }
}
