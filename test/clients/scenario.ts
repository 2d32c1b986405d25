import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { type Listed, type SdkClient, type SdkTransport, Updates } from './client-face.ts'
import type { RunningServe } from '../helpers/serve-process.ts'
import { tapFetch } from './wire.ts'

/** More than fits one page of a listing (500). */
export const artefactCount = 510

/** As large as the stills of a real render, and more than one socket buffer. */
const imageBytes = 1_500_000

/** What the scenarios do as an application. */
export type Serving = Pick<RunningServe, 'url' | 'post' | 'store'>

export interface Prepared {
  serving: Serving
  image: string
}

/** State that every client finds: an audit entry, events, one image and many small artefacts. */
export async function prepare(serving: Serving): Promise<Prepared> {
  await serving.post('audit', { records: [{ action: 'scene.open', actor: 'artist' }] })
  await serving.post('events/render-1', {
    events: ['started', 'half', 'done'].map(message => ({
      source: 'renderer',
      stream: 'stdout',
      message,
    })),
  })
  const hex = await serving.store(randomBytes(imageBytes), '?display_name=still.exr', 'image/x-exr')
  const names = Array.from({ length: artefactCount - 1 }, (_, index) => `note-${index}.txt`)
  const next = names.values()
  const worker = async () => {
    for (const name of next) await serving.store(name, `?display_name=${name}`, 'text/plain')
  }
  await Promise.all([worker(), worker(), worker(), worker()])
  return { serving, image: `artefact://sha256/${hex}` }
}

export interface Expected {
  /** Revision that client and server must agree on. */
  revision: string
}

export interface Connection {
  client: SdkClient
  transport: SdkTransport
}

/**
 * What every client of the field does with the server, from the handshake to the end of the
 * session. `open` makes client and transport, not connected yet.
 */
export async function runScenario(
  { serving, image }: Prepared,
  open: (url: URL) => Connection,
  { revision }: Expected,
): Promise<void> {
  const wire = tapFetch(serving.url)
  try {
    const { client, transport } = open(new URL(serving.url))
    const updates = new Updates(client)
    await client.connect(transport)
    expect(wire.revision()).to.equal(revision)
    expect(wire.sent('server/discover')).to.equal(0)
    expect(wire.sent('initialize')).to.equal(1)

    await checkReads(client, serving, image)
    // Some clients walk the pages on their own.
    expect(wire.sent('resources/list')).to.be.at.least(2)
    await wire.streamOpen()
    await checkPush(client, updates, serving)
    await client.ping()
    await checkEnd(transport, serving.url)
    await client.close()
  } finally {
    wire.release()
  }
}

export async function checkReads(
  client: SdkClient,
  serving: Serving,
  image: string,
): Promise<void> {
  const uris = await listAll(client)
  expect(new Set(uris).size).to.equal(uris.length)
  expect(uris).to.include.members(['scene://current', 'audit://recent', image])
  expect(uris.filter(uri => uri.startsWith('artefact://'))).to.have.length(artefactCount)

  const { resourceTemplates } = await client.listResourceTemplates()
  expect(resourceTemplates.map(template => template.uriTemplate)).to.include.members([
    'artefact://sha256/{hex}',
    'audit://recent{?limit}',
    'events://session/{session_id}{?cursor,limit,drain}',
  ])

  await serving.post('scene', { dcc: 'blender', objects: [{ id: 'cube', location: [0, 0, 0] }] })
  const scene = await readJson(client, 'scene://current')
  expect(scene).to.deep.equal({ dcc: 'blender', objects: [{ id: 'cube', location: [0, 0, 0] }] })
  const audit = await readJson(client, 'audit://recent?limit=500')
  expect(audit.entries[0]).to.include({ action: 'scene.open', actor: 'artist', outcome: 'success' })
  const page = await readJson(client, 'events://session/render-1?cursor=1&limit=1')
  expect(page.events).to.have.length(1)
  expect(page.events[0]).to.include({ session_id: 'render-1', message: 'half' })

  const [content] = (await client.readResource({ uri: image })).contents
  expect(content).to.include({ uri: image, mimeType: 'image/x-exr' })
  const bytes = Buffer.from(content?.blob ?? '', 'base64')
  expect(`artefact://sha256/${createHash('sha256').update(bytes).digest('hex')}`).to.equal(image)
  await checkTools(client, serving)
}

/** Every tool is listed and answers; the client checks the results against their schemas. */
async function checkTools(client: SdkClient, serving: Serving): Promise<void> {
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).to.deep.equal([
    'list_resources',
    'read_resource',
    'query_scene',
    'scene_changes',
    'look',
    'wait_for_change',
    'list_notes',
    'answer_note',
  ])
  const call = async (name: string, args: object = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: args })
    return { text: String(content[0]?.text), isError }
  }
  expect((await call('list_resources')).text).to.contain('scene://current')
  expect((await call('read_resource', { uri: 'audit://recent' })).text).to.contain('scene.open')
  const ids = (await call('query_scene', { ids: ['cube'] })).text
  expect(JSON.parse(ids)).to.deep.include({ items: [{ id: 'cube', location: [0, 0, 0] }] })
  expect(await call('look')).to.include({ isError: true })
  expect(await call('query_scene', { nonsense: 1 })).to.include({ isError: true })

  const { note } = (await serving.post('notes', { text: 'Too bright' })).json
  expect((await call('list_notes')).text).to.contain('"Too bright"')
  const answered = await call('answer_note', { id: note.id, text: 'dimmed' })
  expect(answered.text).to.contain('is answered')
  await serving.post(`notes/${note.id}/close`, {})

  const { revision } = JSON.parse(ids) as { revision: number }
  const waiting = call('wait_for_change', { since: revision, timeout_s: 20 })
  await serving.post('scene', { dcc: 'blender', objects: [{ id: 'cube', location: [0, 1, 0] }] })
  expect((await waiting).text).to.contain('cube moved 1.00 along y')
  const changes = await call('scene_changes', { since: revision })
  expect(changes.text).to.contain('cube moved 1.00 along y')
}

/** A change arrives while subscribed, and only then. */
export async function checkPush(
  client: SdkClient,
  updates: Updates,
  serving: Serving,
): Promise<void> {
  const scene = 'scene://current'
  const audit = 'audit://recent'
  const scenes = updates.count(scene)
  const audits = updates.count(audit)
  await client.subscribeResource({ uri: scene })
  await client.subscribeResource({ uri: audit })
  await serving.post('scene', { dcc: 'blender', objects: [{ id: 'cube', location: [1, 2, 3] }] })
  await updates.until(scene, scenes + 1)
  const { objects } = await readJson(client, scene)
  expect(objects).to.deep.equal([{ id: 'cube', location: [1, 2, 3] }])

  await client.unsubscribeResource({ uri: scene })
  await serving.post('scene', { dcc: 'blender', objects: [] })
  await serving.post('audit', { records: [{ action: 'object.delete' }] })
  // The same stream carries both: once the later one is here, the earlier would be too.
  await updates.until(audit, audits + 1)
  expect(updates.count(scene)).to.equal(scenes + 1)
}

async function checkEnd(transport: SdkTransport, url: string): Promise<void> {
  const id = transport.sessionId ?? ''
  expect(id).to.match(/^[\x21-\x7e]+$/)
  const ping = () =>
    fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'Mcp-Session-Id': id,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    }).then(async answer => {
      await answer.arrayBuffer()
      return answer.status
    })
  expect(await ping()).to.equal(200)
  await transport.terminateSession()
  expect(await ping()).to.equal(404)
}

async function listAll(client: SdkClient): Promise<string[]> {
  const uris: string[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < 10; pages++) {
    const page: Listed = await client.listResources(cursor === undefined ? undefined : { cursor })
    uris.push(...page.resources.map(resource => resource.uri))
    cursor = page.nextCursor
    if (cursor === undefined) break
  }
  return uris
}

/** The loosest shape of the JSON resources; the assertions say what is in them. */
interface JsonPayload {
  [member: string]: unknown
  objects: unknown
  entries: Record<string, unknown>[]
  events: Record<string, unknown>[]
}

export async function readJson(client: SdkClient, uri: string): Promise<JsonPayload> {
  const [content] = (await client.readResource({ uri })).contents
  expect(content).to.include({ uri, mimeType: 'application/json' })
  return JSON.parse(content?.text ?? '') as JsonPayload
}
