import { randomBytes } from 'node:crypto'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  artefactGetBytes,
  artefactList,
  artefactPutBytes,
  artefactPutFile,
  type ArtefactRef,
} from '../../src/index.ts'
import { facts, inFolder, listAll, type Scene, serving } from './facts.ts'

interface Stored extends Scene {
  root: string
  folder: string
}

/** A server with artefacts in a folder of its own, and the helpers' root for the same store. */
function storing(check: (scene: Stored) => Promise<void>): Promise<void> {
  return inFolder(folder =>
    serving(scene => check({ ...scene, folder, root: join(folder, 'dcc-mcp-artefacts') }), {
      registryDir: folder,
      enableArtefactResources: true,
    }),
  )
}

async function listed(scene: Scene, ref: ArtefactRef): Promise<any> {
  return (await listAll(scene.session)).find(each => each.uri === ref.uri)
}

facts('specification: Artefact store', [
  [
    'the URI is artefact://sha256/ and the hash of the bytes',
    () =>
      storing(async ({ root }) => {
        const bytes = randomBytes(1000)
        const { uri } = await artefactPutBytes(bytes, { root })
        const hex = createHash('sha256').update(bytes).digest('hex')
        expect(uri).to.equal(`artefact://sha256/${hex}`)
      }),
  ],
  [
    'the store of a server lies in dcc-mcp-artefacts below its state directory',
    () =>
      storing(async ({ folder, root, session }) => {
        expect(existsSync(join(folder, 'dcc-mcp-artefacts'))).to.equal(true)
        const { uri } = await artefactPutBytes(Buffer.from('here'), { root })
        expect((await listAll(session)).map(each => each.uri)).to.include(uri)
      }),
  ],
  [
    'without a state directory it lies below the temporary folder of the system',
    () =>
      inFolder(async folder => {
        const before = process.env.TMPDIR
        process.env.TMPDIR = folder
        try {
          const { uri } = await artefactPutBytes(Buffer.from('temp'))
          await serving(
            async ({ session }) => {
              expect((await listAll(session)).map(each => each.uri)).to.include(uri)
            },
            { enableArtefactResources: true },
          )
        } finally {
          if (before === undefined) delete process.env.TMPDIR
          else process.env.TMPDIR = before
        }
      }),
  ],
  [
    'resources/list has every stored artefact with its declared MIME type',
    () =>
      storing(async scene => {
        const mimes = ['image/png', 'text/plain; charset=utf-8', 'application/x-maya', 'model/gltf']
        for (const mime of mimes) {
          await artefactPutBytes(Buffer.from(mime), { root: scene.root, mime })
        }
        const all = (await listAll(scene.session)).filter(each => each.uri.startsWith('artefact:'))
        expect(all.map(each => each.mimeType)).to.have.members(mimes)
      }),
  ],
  [
    'each entry carries its sidecar: name, session, tool, job, correlation, expiry, metadata',
    () =>
      storing(async scene => {
        const ref = await artefactPutBytes(Buffer.from('all members'), {
          root: scene.root,
          displayName: 'beauty.exr',
          sessionId: 's1',
          toolCallId: 't1',
          jobId: 'j1',
          correlationId: 'c1',
          expiresAt: '2099-01-02T03:04:05Z',
          metadata: { layers: ['rgb', 'z'], adapter: { frame: 7 } },
        })
        const entry = await listed(scene, ref)
        expect(entry.name).to.equal('beauty.exr')
        expect(entry._meta['service-cli/artefact']).to.deep.include({
          session_id: 's1',
          tool_call_id: 't1',
          job_id: 'j1',
          correlation_id: 'c1',
          expires_at: '2099-01-02T03:04:05.000Z',
          metadata: { layers: ['rgb', 'z'], adapter: { frame: 7 } },
        })
      }),
  ],
  [
    'resources/read gives the bytes as a base64 blob with the declared MIME type',
    () =>
      storing(async ({ root, session }) => {
        for (const size of [0, 1, 2, 3, 70_000]) {
          const bytes = randomBytes(size)
          const { uri } = await artefactPutBytes(bytes, { root, mime: 'image/x-test' })
          const { result } = await session.call('resources/read', { uri })
          expect(result.contents).to.deep.equal([
            { uri, mimeType: 'image/x-test', blob: bytes.toString('base64') },
          ])
        }
      }),
  ],
  [
    'a valid URI with nothing under it is answered with −32002',
    () =>
      storing(async ({ session }) => {
        const uri = `artefact://sha256/${'0'.repeat(64)}`
        const { error } = await session.call('resources/read', { uri })
        expect(error.code).to.equal(-32002)
      }),
  ],
])

facts('specification: Artefact store, helpers', [
  [
    'artefactPutFile stores a file; the server serves it; artefactGetBytes gives it back',
    () =>
      storing(async ({ folder, root, session }) => {
        const path = join(folder, 'playblast.mov')
        const bytes = randomBytes(300_000)
        await writeFile(path, bytes)
        const { uri } = await artefactPutFile(path, { root, mime: 'video/quicktime' })
        const { result } = await session.call('resources/read', { uri })
        expect(Buffer.from(result.contents[0].blob, 'base64').equals(bytes)).to.equal(true)
        expect(Buffer.from(await artefactGetBytes(uri, { root })).equals(bytes)).to.equal(true)
      }),
  ],
  [
    'artefactPutBytes stores bytes; artefactList has them with their sidecar',
    () =>
      storing(async ({ root }) => {
        const ref = await artefactPutBytes(Buffer.from('b'), { root, jobId: 'j' })
        expect(await artefactList({ root })).to.deep.equal([ref])
        expect(await artefactList({ root, jobId: 'j' })).to.have.length(1)
        expect(await artefactList({ root, jobId: 'other' })).to.have.length(0)
      }),
  ],
])
