import { randomBytes } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { artefactGetBytes, artefactPutBytes, type ArtefactRef } from '../../../src/index.ts'
import { ask, rpc } from '../../helpers/mcp.ts'
import type { Limits } from '../../../src/lib/config/limits.ts'
import { facts, inFolder, listAll, readCode, type Scene, serving } from '../facts.ts'

interface Stored extends Scene {
  root: string
}

function storing(
  check: (scene: Stored) => Promise<void>,
  limits: Partial<Limits> = {},
): Promise<void> {
  return inFolder(folder =>
    serving(scene => check({ ...scene, root: join(folder, 'dcc-mcp-artefacts') }), {
      registryDir: folder,
      enableArtefactResources: true,
      limits,
    }),
  )
}

const hexOf = ({ digest }: ArtefactRef) => digest.slice('sha256:'.length)
const bodyPath = (root: string, hex: string) => join(root, 'sha256', hex.slice(0, 2), hex)

const malformed = [
  'artefact://sha256/abc',
  `artefact://sha256/${'A'.repeat(64)}`,
  `artefact://sha256/${'g'.repeat(64)}`,
  `artefact://sha256/${'a'.repeat(65)}`,
  `artefact://sha256/${'a'.repeat(64)}/x`,
  `artefact://md5/${'a'.repeat(64)}`,
  'artefact://sha256/',
]

facts('decision: artefact URIs', [
  [
    'malformed or not lower-case hexadecimal: −32602',
    () =>
      storing(async ({ session }) => {
        for (const uri of malformed) expect(await readCode(session, uri), uri).to.equal(-32602)
      }),
  ],
  [
    'while artefacts are off every read is −32002, whatever its form',
    () =>
      serving(async ({ session }) => {
        for (const uri of malformed) expect(await readCode(session, uri), uri).to.equal(-32002)
      }),
  ],
])

facts('decision: artefact sidecar', [
  [
    'descriptor: name, size, mimeType, and the rest under _meta with the download address',
    () =>
      storing(async ({ root, session, base }) => {
        const ref = await artefactPutBytes(Buffer.from('12345'), { root, mime: 'text/plain' })
        const entry = (await listAll(session)).find(each => each.uri === ref.uri)
        expect(entry).to.deep.equal({
          uri: ref.uri,
          name: hexOf(ref),
          title: `Artefact ${hexOf(ref).slice(0, 12)}`,
          mimeType: 'text/plain',
          size: 5,
          annotations: { lastModified: ref.created_at },
          _meta: {
            'service-cli/artefact': { download_url: `${base}/artefacts/sha256/${hexOf(ref)}` },
          },
        })
      }),
  ],
  [
    'on disk: body and sidecar below two hexadecimal digits, the sidecar with all members',
    () =>
      storing(async ({ root }) => {
        const ref = await artefactPutBytes(Buffer.from('disk'), { root, displayName: 'd.txt' })
        const path = bodyPath(root, hexOf(ref))
        expect(await readFile(path, 'utf8')).to.equal('disk')
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
      }),
  ],
  [
    'the same bytes again: one entry, the newest metadata, the later expiry',
    () =>
      storing(async ({ root, session }) => {
        const bytes = Buffer.from('same')
        const [early, late] = ['2090-01-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z']
        await artefactPutBytes(bytes, { root, displayName: 'one', expiresAt: late })
        await artefactPutBytes(bytes, { root, displayName: 'two', expiresAt: early })
        const entries = (await listAll(session)).filter(each => each.uri.startsWith('artefact:'))
        expect(entries).to.have.length(1)
        expect(entries[0].name).to.equal('two')
        expect(entries[0]._meta['service-cli/artefact'].expires_at).to.equal(late)
      }),
  ],
  [
    'an artefact past its expiry is not stored any more',
    () =>
      storing(async ({ root, session }) => {
        const expiresAt = new Date(Date.now() + 1000)
        const ref = await artefactPutBytes(Buffer.from('brief'), { root, expiresAt })
        while (Date.now() <= expiresAt.getTime()) await new Promise(setImmediate)
        expect(await readCode(session, ref.uri)).to.equal(-32002)
        expect((await listAll(session)).map(each => each.uri)).not.to.include(ref.uri)
      }),
  ],
  [
    'bounds: the oldest go when there are more than max_entries',
    () =>
      inFolder(async folder => {
        const root = join(folder, 'dcc-mcp-artefacts')
        for (let n = 0; n < 5; n++) await artefactPutBytes(Buffer.from(`${n}`), { root })
        await serving(
          async ({ session }) => {
            const uris = (await listAll(session)).map(each => each.uri)
            expect(uris.filter(uri => uri.startsWith('artefact:'))).to.have.length(2)
          },
          { registryDir: folder, enableArtefactResources: true, limits: { maxArtefacts: 2 } },
        )
      }),
  ],
])

facts('decision: blobs over MCP', [
  [
    'larger ones are streamed, byte for byte the same',
    () =>
      storing(
        async ({ root, session }) => {
          for (const size of [1001, 300_000, 1_000_003]) {
            const bytes = randomBytes(size)
            const { uri } = await artefactPutBytes(bytes, { root, mime: 'x/y' })
            const answer = await session.post(rpc('resources/read', { uri }, 9))
            expect(answer.json).to.deep.equal({
              jsonrpc: '2.0',
              id: 9,
              result: { contents: [{ uri, mimeType: 'x/y', blob: bytes.toString('base64') }] },
            })
          }
        },
        { maxCachedBlobBytes: 1000 },
      ),
  ],
  [
    'a damaged one is never told as whole: streamed it is cut, small it is −32603; then it is gone',
    async () => {
      for (const maxCachedBlobBytes of [1000, 10_000_000]) {
        await storing(
          async ({ root, session }) => {
            const bytes = randomBytes(400_000)
            const ref = await artefactPutBytes(bytes, { root })
            bytes[399_999] = (bytes[399_999] ?? 0) ^ 1
            await writeFile(bodyPath(root, hexOf(ref)), bytes)
            const answer = await session
              .post(rpc('resources/read', { uri: ref.uri }))
              .catch(() => null)
            expect(answer?.json?.result, 'a whole answer').to.equal(undefined)
            if (maxCachedBlobBytes > 400_000) expect(answer?.json.error.code).to.equal(-32603)
            expect(await readCode(session, ref.uri)).to.equal(-32002)
            expect(await readdir(join(root, 'quarantine'))).not.to.have.length(0)
          },
          { maxCachedBlobBytes },
        )
      }
    },
  ],
])

facts('decision: plain download', [
  [
    'GET gives the bytes with ETag and the safety headers',
    () =>
      storing(async ({ root, base }) => {
        const body = '<script>alert(1)</script>'
        const bytes = Buffer.from(body)
        const ref = await artefactPutBytes(bytes, {
          root,
          mime: 'text/html',
          displayName: 'x.html',
        })
        const answer = await ask(`${base}/artefacts/sha256/${hexOf(ref)}`)
        expect(answer.status).to.equal(200)
        expect(answer.text).to.equal(body)
        expect(answer.headers).to.include({
          'content-type': 'text/html',
          'x-content-type-options': 'nosniff',
          'content-security-policy': "sandbox; default-src 'none'",
          'content-disposition': 'attachment; filename="x.html"',
          'cross-origin-resource-policy': 'same-origin',
          etag: `"${hexOf(ref)}"`,
        })
      }),
  ],
  [
    'Range gives a part, If-None-Match saves the body',
    () =>
      storing(async ({ root, base }) => {
        const ref = await artefactPutBytes(Buffer.from('0123456789'), { root })
        const url = `${base}/artefacts/sha256/${hexOf(ref)}`
        const part = await ask(url, { headers: { Range: 'bytes=2-4' } })
        expect([part.status, part.text]).to.deep.equal([206, '234'])
        expect(part.headers['content-range']).to.equal('bytes 2-4/10')
        const cached = await ask(url, { headers: { 'If-None-Match': `"${hexOf(ref)}"` } })
        expect([cached.status, cached.text]).to.deep.equal([304, ''])
      }),
  ],
  [
    'the same bytes as over MCP and from the helper; unknown ones are 404',
    () =>
      storing(async ({ root, base }) => {
        const ref = await artefactPutBytes(Buffer.from('three ways'), { root })
        const { text } = await ask(`${base}/artefacts/sha256/${hexOf(ref)}`)
        expect(text).to.equal(Buffer.from(await artefactGetBytes(ref.uri, { root })).toString())
        const { status } = await ask(`${base}/artefacts/sha256/${'0'.repeat(64)}`)
        expect(status).to.equal(404)
      }),
  ],
])
