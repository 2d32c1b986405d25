import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import {
  artefactGetBytes,
  artefactList,
  artefactPutBytes,
  artefactPutFile,
  type ArtefactRef,
} from '../../src/index.ts'
import { newFolder } from '../helpers/cleanup.ts'
import { withEnv } from '../helpers/in-process.ts'
import { RawSession, rpc, startServer } from '../helpers/mcp.ts'
import {
  contentOf,
  listAll,
  listedUris,
  listen,
  readFailure,
  scene,
  useArtefacts,
  useServer,
} from './support.ts'

const hexOf = ({ digest }: ArtefactRef) => digest.slice('sha256:'.length)
const bodyPath = (root: string, ref: ArtefactRef) =>
  join(root, 'sha256', hexOf(ref).slice(0, 2), hexOf(ref))

const malformed = [
  'artefact://sha256/abc',
  `artefact://sha256/${'A'.repeat(64)}`,
  `artefact://sha256/${'a'.repeat(64)}/x`,
  `artefact://md5/${'a'.repeat(64)}`,
  'artefact://sha256/',
]
const unknown = `artefact://sha256/${'0'.repeat(64)}`

describe('artefact://', () => {
  const section = useArtefacts()
  const { root } = section
  const put = (text: string, options: object = {}) =>
    artefactPutBytes(Buffer.from(text), { root, ...options })
  const listed = async (uri: string) =>
    (await listAll(section.session)).find(each => each.uri === uri)

  it('has the hash of the bytes as URI, and its files below the state directory', async () => {
    const ref = await put('hash', { displayName: 'd.txt' })
    expect(ref.uri).to.equal(
      `artefact://sha256/${createHash('sha256').update('hash').digest('hex')}`,
    )
    const path = bodyPath(root, ref)
    expect(await readFile(path, 'utf8')).to.equal('hash')
    expect(JSON.parse(await readFile(`${path}.json`, 'utf8'))).to.deep.equal({
      uri: ref.uri,
      mime: 'application/octet-stream',
      size_bytes: 4,
      display_name: 'd.txt',
      digest: ref.digest,
      session_id: null,
      tool_call_id: null,
      job_id: null,
      correlation_id: null,
      instance_id: null,
      dcc_type: null,
      created_at: ref.created_at,
      expires_at: null,
      metadata: null,
    })
  })

  it('is listed with its size, time and download address', async () => {
    const ref = await put('12345', { mime: 'text/plain' })
    const hex = hexOf(ref)
    expect(await listed(ref.uri)).to.deep.equal({
      uri: ref.uri,
      name: hex,
      title: `Artefact ${hex.slice(0, 12)}`,
      mimeType: 'text/plain',
      size: 5,
      annotations: { lastModified: ref.created_at },
      _meta: {
        'service-cli/artefact': { download_url: `${section.base}/artefacts/sha256/${hex}` },
      },
    })
  })

  it('is listed with its sidecar: name, session, tool, job, correlation, expiry, metadata', async () => {
    const metadata = { layers: ['rgb', 'z'], adapter: { frame: 7 } }
    const { uri } = await put('all members', {
      displayName: 'beauty.exr',
      sessionId: 's1',
      toolCallId: 't1',
      jobId: 'j1',
      correlationId: 'c1',
      expiresAt: '2099-01-02T03:04:05Z',
      metadata,
    })
    const entry = await listed(uri)
    expect(entry.name).to.equal('beauty.exr')
    expect(entry._meta['service-cli/artefact']).to.deep.include({
      session_id: 's1',
      tool_call_id: 't1',
      job_id: 'j1',
      correlation_id: 'c1',
      expires_at: '2099-01-02T03:04:05.000Z',
      metadata,
    })
  })

  it('is read as a base64 blob with the declared MIME type, streamed when it is large', async () => {
    for (const size of [0, 1, 2, 3, 300_000, 9_000_001]) {
      const bytes = randomBytes(size)
      const { uri } = await artefactPutBytes(bytes, { root, mime: 'image/x-test' })
      const answer = await section.session.post(rpc('resources/read', { uri }, 9))
      const contents = [{ uri, mimeType: 'image/x-test', blob: bytes.toString('base64') }]
      expect(answer.json).to.deep.equal({ jsonrpc: '2.0', id: 9, result: { contents } })
    }
  })

  it('is −32002 with nothing under the URI, and −32602 malformed or not in lower case', async () => {
    expect((await readFailure(section.session, unknown)).code).to.equal(-32002)
    for (const uri of malformed) {
      expect((await readFailure(section.session, uri)).code, uri).to.equal(-32602)
    }
  })

  it('is one entry for the same bytes, with the newest metadata and the later expiry', async () => {
    const [early, late] = ['2090-01-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z']
    const { uri } = await put('same', { displayName: 'one', expiresAt: late })
    await put('same', { displayName: 'two', expiresAt: early })
    const entries = (await listAll(section.session)).filter(each => each.uri === uri)
    expect(entries).to.have.length(1)
    expect(entries[0].name).to.equal('two')
    expect(entries[0]._meta['service-cli/artefact'].expires_at).to.equal(late)
  })

  it('is gone past its expiry', async () => {
    const expiresAt = new Date(Date.now() + 200)
    const { uri } = await put('brief', { expiresAt })
    while (Date.now() <= expiresAt.getTime()) await new Promise(setImmediate)
    expect((await readFailure(section.session, uri)).code).to.equal(-32002)
    expect(await listedUris(section.session)).not.to.include(uri)
  })

  it('sends no updates', async () => {
    const { uri } = await put('silent')
    const events = await listen(section.session, uri, scene)
    await put('silent', { displayName: 'renamed' })
    await section.session.call('resources/read', { uri })
    section.server.resources().setScene({})
    await events.until(() => events.updates.length > 0)
    expect(events.updates).to.deep.equal([scene])
  })

  for (const [size, what] of [
    [900, 'is −32603'],
    [9_000_000, 'is cut in the stream'],
  ] as const) {
    it(`${what} when ${size} bytes are damaged, until they are stored again`, async () => {
      const bytes = randomBytes(size)
      const ref = await artefactPutBytes(bytes, { root })
      bytes[size - 1] = (bytes[size - 1] ?? 0) ^ 1
      await writeFile(bodyPath(root, ref), bytes)
      const body = rpc('resources/read', { uri: ref.uri })
      const answer = await section.session.post(body).catch(() => null)
      expect(answer?.json?.result, 'a whole answer').to.equal(undefined)
      if (size < 1000) {
        const error = answer?.json?.error
        expect([error?.code, error?.data.reason]).to.deep.equal([-32603, 'artefact_corrupt'])
        expect(JSON.stringify(error)).not.to.contain(root)
      }
      bytes[size - 1] = (bytes[size - 1] ?? 0) ^ 1
      await artefactPutBytes(bytes, { root })
      const { blob } = await contentOf(section.session, ref.uri)
      expect(Buffer.from(blob, 'base64').equals(bytes)).to.equal(true)
    })
  }

  it('is stored and found by the helpers of the library', async () => {
    const path = join(dirname(root), 'playblast.mov')
    const bytes = randomBytes(3000)
    await writeFile(path, bytes)
    const ref = await artefactPutFile(path, { root, mime: 'video/quicktime', jobId: 'j9' })
    const { blob } = await contentOf(section.session, ref.uri)
    expect(Buffer.from(blob, 'base64').equals(bytes)).to.equal(true)
    expect(Buffer.from(await artefactGetBytes(ref.uri, { root })).equals(bytes)).to.equal(true)
    expect(await artefactList({ root, jobId: 'j9' })).to.deep.equal([ref])
    expect(await artefactList({ root, jobId: 'other' })).to.have.length(0)
  })
})

describe('a server with artefacts', () => {
  const folder = newFolder()

  it('has them below the temporary folder of the system without a state directory', async () => {
    const TMPDIR = join(folder, 'temporary')
    await mkdir(TMPDIR)
    await withEnv({ ...process.env, TMPDIR }, async () => {
      const { uri } = await artefactPutBytes(Buffer.from('temp'))
      const running = await startServer({ enableArtefactResources: true })
      const uris = await listedUris(await RawSession.open(running.url))
      await running.stop()
      expect(uris).to.include(uri)
      expect(await readdir(TMPDIR)).to.have.length(1)
    })
  })
})

describe('artefact:// by default', () => {
  const registryDir = newFolder()
  const section = useServer({ registryDir })

  it('is neither listed nor read: −32002, whatever its form', async () => {
    const root = join(registryDir, 'dcc-mcp-artefacts')
    const { uri } = await artefactPutBytes(Buffer.from('x'), { root })
    const uris = await listedUris(section.session)
    expect(uris.filter(each => each.startsWith('artefact:'))).to.deep.equal([])
    for (const each of [uri, ...malformed]) {
      expect((await readFailure(section.session, each)).code, each).to.equal(-32002)
    }
  })
})
