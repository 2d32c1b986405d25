import { join } from 'node:path'
import { expect } from 'chai'
import { PNG } from 'pngjs'
import { artefactPutBytes } from '../../src/index.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { RawSession } from '../helpers/mcp.ts'
import { pngOf } from '../helpers/pictures.ts'
import type { RunningServe } from '../helpers/serve-process.ts'
import { newFolder } from '../helpers/cleanup.ts'

const folder = newFolder()
const root = join(folder, 'dcc-mcp-artefacts')

describe('artefacts that are read in parts', () => {
  let serve: RunningServe
  let session: RawSession

  before(async () => {
    serve = await serveInProcess({ registryDir: folder })
    session = await RawSession.open(serve.url)
  })

  const uriOf = (hex: string) => `artefact://sha256/${hex}`
  const readAnswer = (uri: string): Promise<any> => session.call('resources/read', { uri })
  const read = async (uri: string): Promise<any> => (await readAnswer(uri)).result.contents[0]

  const text = 'aé€😀\n'.repeat(50_000)
  let uri: string
  before(async () => (uri = await put(Buffer.from(text), 'text/plain')))

  async function put(bytes: Buffer, mime: string, more: object = {}): Promise<string> {
    return (await artefactPutBytes(bytes, { root, mime, ...more })).uri
  }

  for (const limit of [4, 5, 64]) {
    it(`as text come in slices of at most ${limit} bytes, which cut no character`, async () => {
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

  it('as text are 64 KiB unless told otherwise, at most 1 MiB', async () => {
    const first = await read(`${uri}?as=text`)
    expect(first).to.include({ uri: `${uri}?as=text`, mimeType: 'text/plain' })
    expect(Buffer.byteLength(first.text)).to.be.within(65_533, 65_536)
    const whole = await read(`${uri}?as=text&limit=1048576`)
    expect(whole.text).to.equal(text)
    const slice = { offset: 0, bytes: 550_000, total: 550_000 }
    expect(whole._meta['service-cli/slice']).to.deep.equal(slice)
  })

  it('as text begin at the next whole character, and are empty after the end', async () => {
    const inside = await read(`${uri}?as=text&offset=2&limit=6`)
    expect(inside.text).to.equal('€')
    expect(inside._meta['service-cli/slice']).to.include({ offset: 3, next_offset: 6 })
    const behind = await read(`${uri}?as=text&offset=9999999`)
    expect(behind.text).to.equal('')
    expect(behind._meta['service-cli/slice']).to.not.have.property('next_offset')
  })

  it('are refused with the reason when they are no text, or asked for in a wrong way', async () => {
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
      const { error } = await readAnswer(asked)
      expect(error, asked).to.include({ code: -32_602 })
      expect(error.message, asked).to.match(message)
    }
    const absent = `${uriOf('0'.repeat(64))}?as=text`
    expect((await readAnswer(absent)).error.code).to.equal(-32_002)
  })

  const pngIn = (content: any) => PNG.sync.read(Buffer.from(content.blob, 'base64'))

  it('as pictures are scaled down to the width, and say their size', async () => {
    const picture = await put(pngOf(400, 100), 'image/png')
    const smaller = await read(`${picture}?max_width=100`)
    expect(pngIn(smaller)).to.include({ width: 100, height: 25 })
    expect(smaller).to.include({ uri: `${picture}?max_width=100`, mimeType: 'image/png' })
    expect(smaller._meta['service-cli/picture']).to.deep.equal({ width: 100, height: 25 })
    const same = await read(`${picture}?max_width=400`)
    expect(same.blob).to.equal((await read(picture)).blob)
  })

  it('as pictures that are transparent show a grey ground', async () => {
    const picture = new PNG({ width: 8, height: 8 })
    picture.data.fill(0)
    const uri = await put(PNG.sync.write(picture), 'image/png')
    const pixel = [128, 128, 128, 255]
    const smaller = pngIn(await read(`${uri}?max_width=4`))
    expect([...smaller.data]).to.deep.equal(Array.from({ length: 16 }, () => pixel).flat())
  })

  it('stay as they are when they are no PNG file, damaged, or have too many pixels', async () => {
    const broken = pngOf(400, 100)
    broken[60] = (broken[60] ?? 0) ^ 0xff
    const huge = pngOf(400, 100)
    huge.writeUInt32BE(16_000, 20)
    for (const bytes of [Buffer.from('no picture'), broken, huge]) {
      const { blob, _meta } = await read(`${await put(bytes, 'image/png')}?max_width=100`)
      expect(Buffer.compare(Buffer.from(blob, 'base64'), bytes)).to.equal(0)
      expect(_meta['service-cli/artefact']).to.have.keys('download_url')
    }
    const jpeg = await put(Buffer.from('a jpeg'), 'image/jpeg')
    expect(await read(`${jpeg}?max_width=100`)).to.include({ mimeType: 'image/jpeg' })
  })

  it('tell their long metadata when they are read, and short ones in the listing, too', async () => {
    const metadata = { note: 'x'.repeat(1100) }
    const long = await put(Buffer.from('long'), 'text/plain', { metadata, jobId: 'j' })
    const { resources } = (await session.call('resources/list')).result
    const listed = resources.find((each: any) => each.uri === long)
    expect(listed._meta['service-cli/artefact']).to.have.keys('job_id', 'download_url')
    for (const query of ['', '?as=text']) {
      const { _meta } = await read(long + query)
      expect(_meta['service-cli/artefact']).to.deep.equal({ job_id: 'j', metadata })
    }
  })
})
