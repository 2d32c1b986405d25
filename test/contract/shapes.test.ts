import { expect } from 'chai'
import {
  CompleteResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ReadResourceResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
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

/**
 * The shapes of a revision's schema, in our words: which members it has, of which type. Older ones
 * let further members pass, as their schemas do; the newest knows every member that we send.
 */
function shapesOf(revision: string) {
  const newest = revision === stateless
  const object = <Shape extends z.ZodRawShape>(shape: Shape) =>
    newest ? z.strictObject(shape) : z.looseObject(shape)
  const since = (first: string, shape: z.ZodRawShape) => (revision >= first ? shape : {})
  const meta = { _meta: z.record(z.string(), z.unknown()).optional() }
  const text = z.string()
  const annotations = object({
    audience: z.array(z.enum(['user', 'assistant'])).optional(),
    priority: z.number().min(0).max(1).optional(),
    ...since('2025-06-18', { lastModified: z.iso.datetime({ offset: true }).optional() }),
  })
  const entry = {
    name: text,
    description: text.optional(),
    mimeType: text.optional(),
    annotations: annotations.optional(),
    ...since('2025-06-18', { title: text.optional(), ...meta }),
  }
  const resource = object({ uri: z.url(), size: z.int().min(0).optional(), ...entry })
  const template = object({ uriTemplate: text, ...entry })
  const part = { uri: text, mimeType: text, ...since('2025-06-18', meta) }
  const content = z.union([object({ ...part, text }), object({ ...part, blob: z.base64() })])
  const completion = object({ values: z.array(text).max(100), hasMore: z.boolean().optional() })
  const result = since(stateless, { resultType: z.literal('complete'), ...meta })
  const ttlMs = z.int().min(0)
  const kept = {
    ...result,
    ...since(stateless, { ttlMs, cacheScope: z.enum(['public', 'private']) }),
  }
  const nextCursor = text.optional()
  return {
    list: object({ resources: z.array(resource), nextCursor, ...kept }),
    templates: object({ resourceTemplates: z.array(template), nextCursor, ...kept }),
    read: object({ contents: z.array(content), ...kept }),
    complete: object({ completion, ...result }),
  }
}

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
  const shapes = shapesOf(revision)

  const listed = await result('resources/list')
  shapes.list.parse(listed)
  ListResourcesResultSchema.parse(listed)
  expect(listed.resources).to.have.length(6)

  const templates = await result('resources/templates/list')
  shapes.templates.parse(templates)
  ListResourceTemplatesResultSchema.parse(templates)

  for (const { uri, size, mimeType } of listed.resources) {
    const read = await result('resources/read', { uri })
    shapes.read.parse(read)
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
      shapes.complete.parse(completed)
      CompleteResultSchema.parse(completed)
    }
  }
}
