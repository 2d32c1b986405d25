import { expect } from 'chai'
import { PNG } from 'pngjs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { artefactPutBytes } from '../../../src/index.ts'
import { RawSession, startServer } from '../../helpers/mcp.ts'
import { pngOf } from '../../helpers/png.ts'
import { readPng } from '../../unit/capture/png/read-png.ts'

describe('a part of an artefact', () => {
  let folder: string
  let server: Awaited<ReturnType<typeof startServer>>
  let session: RawSession
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'artefact-parts-'))
    server = await startServer({ enableArtefactResources: true, registryDir: folder })
    session = await RawSession.open(server.url)
  })
  after(async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function put(bytes: Buffer, mime: string, more: object = {}): Promise<string> {
    const root = join(folder, 'dcc-mcp-artefacts')
    return (await artefactPutBytes(bytes, { root, mime, ...more })).uri
  }

  const ask = (uri: string): Promise<any> => session.call('resources/read', { uri })
  const read = async (uri: string): Promise<any> => (await ask(uri)).result.contents[0]

  describe('of a text', () => {
    const text = 'aé€😀\n'.repeat(50_000)
    let uri: string
    before(async () => {
      uri = await put(Buffer.from(text), 'text/plain', { displayName: 'render.log' })
    })

    for (const limit of [4, 5, 7, 64]) {
      it(`comes in slices of at most ${limit} bytes, which cut no character`, async () => {
        const short = 'aé€😀\n'.repeat(20)
        const part = await put(Buffer.from(short), 'text/plain')
        let whole = ''
        for (let offset: number | undefined = 0; offset !== undefined;) {
          const { text, _meta } = await read(`${part}?as=text&offset=${offset}&limit=${limit}`)
          const slice: any = _meta['service-cli/slice']
          expect(slice).to.include({ offset, total: 220, bytes: Buffer.byteLength(text) })
          expect(slice.bytes).to.be.within(1, limit)
          whole += text
          offset = slice.next_offset
        }
        expect(whole).to.equal(short)
      })
    }

    it('is 64 KiB unless told otherwise, at most 1 MiB, and says its type and origin', async () => {
      const first = await read(`${uri}?as=text`)
      expect(first).to.include({ uri: `${uri}?as=text`, mimeType: 'text/plain' })
      expect(Buffer.byteLength(first.text)).to.be.within(65_533, 65_536)
      expect((await ask(`${uri}?as=text&limit=1048577`)).error.message).to.contain('1048576')
      const whole = await read(`${uri}?as=text&limit=1048576`)
      expect(whole.text).to.equal(text)
      expect(whole._meta['service-cli/slice']).to.deep.equal({
        offset: 0,
        bytes: 550_000,
        total: 550_000,
      })
    })

    it('begins at the next whole character, and is empty after the end', async () => {
      const inside = await read(`${uri}?as=text&offset=2&limit=6`)
      expect(inside.text).to.equal('€')
      expect(inside._meta['service-cli/slice']).to.include({ offset: 3, next_offset: 6 })
      const behind = await read(`${uri}?as=text&offset=9999999`)
      expect(behind.text).to.equal('')
      expect(behind._meta['service-cli/slice']).to.not.have.property('next_offset')
    })

    it('is refused with the reason when it is no text, or asked for in a wrong way', async () => {
      const binary = await put(Buffer.from([0x61, 0xff, 0xfe, 0x62]), 'model/gltf-binary')
      const wrong: [string, RegExp][] = [
        [`${binary}?as=text`, /as=text needs UTF-8: bytes 0 to 4 are not \(model\/gltf-binary\)/],
        [`${uri}?as=json`, /"as" must be one of text/],
        [`${uri}?offset=5`, /"offset" and "limit" need as=text/],
        [`${uri}?as=text&limit=3`, /"limit" must be an integer from 4 to 1048576/],
        [`${uri}?as=text&offset=-1`, /"offset" must be a non-negative integer/],
        [`${uri}?as=text&max_width=10`, /as=text takes no max_width/],
        [`${uri}?max_width=0`, /"max_width" must be an integer from 1 to 16384/],
      ]
      for (const [asked, message] of wrong) {
        const { error } = await ask(asked)
        expect(error, asked).to.include({ code: -32_602 })
        expect(error.message, asked).to.match(message)
      }
      const absent = `artefact://sha256/${'0'.repeat(64)}?as=text`
      expect((await ask(absent)).error.code).to.equal(-32_002)
    })
  })

  describe('of a picture', () => {
    const widthOf = (content: any) => readPng(Buffer.from(content.blob, 'base64')).width

    it('is scaled down to the width, and says its size', async () => {
      const uri = await put(pngOf(400, 100), 'image/png')
      const smaller = await read(`${uri}?max_width=100`)
      expect(widthOf(smaller)).to.equal(100)
      expect(smaller).to.include({ uri: `${uri}?max_width=100`, mimeType: 'image/png' })
      expect(smaller._meta['service-cli/picture']).to.deep.equal({ width: 100, height: 25 })
      const same = await read(`${uri}?max_width=400`)
      expect(same.blob).to.equal((await read(uri)).blob)
    })

    it('shows transparent pixels on grey', async () => {
      const picture = new PNG({ width: 8, height: 8 })
      const uri = await put(PNG.sync.write(picture), 'image/png')
      const { bytes } = readPng(Buffer.from((await read(`${uri}?max_width=4`)).blob, 'base64'))
      expect(new Set(bytes)).to.deep.equal(new Set([128]))
    })

    for (const [colorType, bitDepth] of [
      [0, 8],
      [2, 8],
      [4, 8],
      [6, 8],
      [0, 16],
      [2, 16],
      [6, 16],
    ] as const) {
      it(`may have colour type ${colorType} and ${bitDepth} bits`, async () => {
        const picture = new PNG({ width: 8, height: 8 })
        picture.data = Buffer.alloc(8 * 8 * (bitDepth / 2), 255)
        const file = PNG.sync.write(picture, { colorType, bitDepth, inputHasAlpha: true })
        const uri = await put(file, 'image/png')
        const { bytes } = readPng(Buffer.from((await read(`${uri}?max_width=4`)).blob, 'base64'))
        expect(bytes.length).to.equal(48)
        expect(new Set(bytes)).to.deep.equal(new Set([255]))
      })
    }

    it('stays as it is when it is no PNG file, damaged, or has too many pixels', async () => {
      const broken = pngOf(400, 100)
      broken[60] = (broken[60] ?? 0) ^ 0xff
      const huge = pngOf(400, 100)
      huge.writeUInt32BE(16_000, 20)
      for (const bytes of [Buffer.from('no picture'), broken, huge]) {
        const uri = await put(bytes, 'image/png')
        const { blob, _meta } = await read(`${uri}?max_width=100`)
        expect(Buffer.compare(Buffer.from(blob, 'base64'), bytes)).to.equal(0)
        expect(_meta).to.equal(undefined)
      }
      const jpeg = await put(Buffer.from('a jpeg'), 'image/jpeg')
      expect(await read(`${jpeg}?max_width=100`)).to.include({ mimeType: 'image/jpeg' })
    })
  })

  it('tells its long metadata when it is read, and its short one in the listing, too', async () => {
    const metadata = { note: 'x'.repeat(1100) }
    const uri = await put(Buffer.from('long'), 'text/plain', { metadata, jobId: 'j' })
    const { resources } = (await session.call('resources/list')).result
    const listed = resources.find((each: any) => each.uri === uri)
    expect(listed._meta['service-cli/artefact']).to.have.keys('job_id', 'download_url')
    const told = { job_id: 'j', metadata }
    for (const query of ['', '?as=text']) {
      const { _meta } = await read(uri + query)
      expect(_meta['service-cli/artefact']).to.deep.equal(told)
    }
  })

  it('is completed: the words, and sizes worth asking for', async () => {
    const ref = { type: 'ref/resource', uri: 'artefact://sha256/{hex}{?as,offset,limit,max_width}' }
    const complete = async (name: string, value = '') =>
      (await session.call('completion/complete', { ref, argument: { name, value } })).result
        .completion.values
    expect(await complete('as')).to.deep.equal(['text'])
    expect(await complete('limit')).to.deep.equal(['65536', '1048576'])
    expect(await complete('max_width', '1')).to.deep.equal(['1024', '1600'])
    expect(await complete('offset')).to.deep.equal(['0'])
  })
})

describe('the sidecar of an artefact', () => {
  it('has no origin when a program stored it without a server', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'artefact-origin-'))
    try {
      const { digest } = await artefactPutBytes(Buffer.from('x'), { root: join(folder, 'a') })
      const hex = digest.slice('sha256:'.length)
      const path = join(folder, 'a', 'sha256', hex.slice(0, 2), `${hex}.json`)
      const sidecar = JSON.parse(await readFile(path, 'utf8'))
      expect(sidecar).to.include({ instance_id: null, dcc_type: null })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
