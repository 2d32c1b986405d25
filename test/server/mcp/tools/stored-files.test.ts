import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import sharp from 'sharp'
import { artefactPutBytes } from '../../../../src/index.ts'
import { MemoryBackend, greyPng, rgbPng } from '../../../helpers/pictures.ts'
import { RawSession, startServer, type TestServer } from '../../../helpers/mcp.ts'
import { newFolder } from '../../../helpers/cleanup.ts'

const folder = newFolder()

const maxSide = 1568
const maxBytes = 1024 * 1024

/** A PNG picture that cannot be compressed. */
const noise = (width: number, height: number) =>
  rgbPng(randomBytes(width * height * 3), width, height)

/** The size of a picture that a model takes. */
async function moderate(data: string) {
  const picture = Buffer.from(data, 'base64')
  expect(picture.length).to.be.at.most(maxBytes)
  const { width, height } = await sharp(picture).metadata()
  expect(Math.max(width, height)).to.be.at.most(maxSide)
  return { width, height }
}

const grey = (width: number, height: number) => sharp(greyPng(width, height, 100))

describe('read_resource of a stored file', () => {
  let server: TestServer
  let session: RawSession
  before(async () => {
    const artefacts = { enableArtefactResources: true, registryDir: folder }
    server = await startServer({ enableTools: true, ...artefacts })
    session = await RawSession.open(server.url)
  })

  const put = async (bytes: Buffer, mime: string) =>
    (await artefactPutBytes(bytes, { root: join(folder, 'dcc-mcp-artefacts'), mime })).uri
  const read = async (uri: string, more: object = {}) => {
    const params = { name: 'read_resource', arguments: { uri, ...more } }
    return (await session.call('tools/call', params)).result.content
  }

  const texts: [mime: string, text: string][] = [
    ['text/plain', 'frame 1'],
    ['application/x-usda', '#usda 1.0\n'],
    ['model/vnd.usd', '# Grüße\n'],
    ['image/png', '<svg/>'],
  ]
  for (const [mime, text] of texts) {
    it(`shows the text of ${mime}`, async () => {
      expect(await read(await put(Buffer.from(text), mime))).to.deep.equal([{ type: 'text', text }])
    })
  }

  it('has a long text in slices of bytes', async () => {
    const log = await put(Buffer.from('frame ü 1\n'.repeat(400_000)), 'text/x-log')
    const [slice, where] = await read(log, { offset: 4_399_989, max_chars: 100 })
    expect(slice.text).to.equal('frame ü 1\n')
    expect(where.text).to.equal('\nbytes 4399989 to 4400000 of 4400000; that is the end')
    const [, next] = await read(log, { max_chars: 106 })
    expect(next.text).to.equal('\nbytes 0 to 105 of 4400000; go on with offset=105')
    const [part, goOn] = await read(`${log}?as=text&limit=110`)
    expect([part.text.length, goOn.text]).to.deep.equal([
      100,
      '\nbytes 0 to 110 of 4400000; go on with offset=110',
    ])
    const [following] = await read(`${log}?as=text&limit=11`, { offset: 110 })
    expect(following.text).to.equal('frame ü 1\n')
  })

  const pictures: [mimeType: string, bytes: () => Promise<Buffer>][] = [
    ['image/jpeg', () => grey(30, 20).jpeg().toBuffer()],
    ['image/gif', () => grey(30, 20).gif().toBuffer()],
    ['image/webp', () => grey(30, 20).webp().toBuffer()],
  ]
  for (const [mimeType, bytesOf] of pictures) {
    it(`shows a picture that is ${mimeType} by its bytes as it is`, async () => {
      const bytes = await bytesOf()
      const uri = await put(bytes, 'application/x-unknown')
      const [picture, line] = await read(uri)
      expect(picture).to.deep.equal({ type: 'image', mimeType, data: bytes.toString('base64') })
      expect(line.text).to.equal(`${uri}, 30 × 20 pixels`)
    })
  }

  const large: [what: string, mime: string, bytes: () => Buffer | Promise<Buffer>][] = [
    ['a PNG picture', 'image/png', () => greyPng(20, 10, 0)],
    ['a high PNG picture', 'image/png', () => greyPng(10, 4000, 0)],
    ['a PNG picture of many bytes', 'image/png', () => noise(1500, 1500)],
    ['a wide WebP picture', 'image/webp', () => grey(4000, 10).webp().toBuffer()],
    [
      'a JPEG picture of many bytes',
      'image/jpeg',
      () => sharp(noise(1500, 1500)).jpeg({ quality: 100 }).toBuffer(),
    ],
  ]
  for (const [what, mime, bytes] of large) {
    it(`shows ${what} as a JPEG picture of moderate size`, async () => {
      const [{ mimeType, data }, line] = await read(await put(await bytes(), mime))
      expect(mimeType).to.equal('image/jpeg')
      const { width, height } = await moderate(data)
      expect(line.text).to.include(`${width} × ${height} pixels`)
    })
  }

  const others: [what: string, mime: string, bytes: Buffer][] = [
    ['a model', 'model/gltf-binary', Buffer.alloc(10)],
    ['a text that is not UTF-8', 'text/plain', Buffer.from([0x61, 0xff])],
    ['a picture that cannot be made smaller', 'image/png', greyPng(4000, 2, 0).subarray(0, 50)],
    ['a picture of another form', 'image/tiff', Buffer.from([0x49, 0x49, 0x2a, 0, 8, 0, 0, 0, 0])],
  ]
  for (const [what, mime, bytes] of others) {
    it(`has the facts of ${what} and a link`, async () => {
      const uri = await put(bytes, mime)
      const content = await read(uri)
      expect(content).to.have.length(1)
      const [facts, why, link] = content[0].text.split('; ')
      expect(facts).to.equal(`${uri}: ${mime}, ${bytes.length} bytes`)
      expect(why).to.match(/^not shown, because it is neither text nor /)
      const answer = await fetch(link.replace('download it from ', ''))
      expect(Buffer.from(await answer.arrayBuffer())).to.deep.equal(bytes)
    })
  }
})

describe('look at a large window', () => {
  const windows: [what: string, width: number, height: number, picture: typeof noise][] = [
    ['high', 1000, 5000, (width, height) => greyPng(width, height, 0)],
    ['full of details', 900, 700, noise],
  ]
  for (const [what, width, height, picture] of windows) {
    it(`has a picture of moderate size of one that is ${what}`, async () => {
      const backend = new MemoryBackend()
      backend.window = { width, height }
      backend.picture = maxWidth => {
        const wide = Math.min(maxWidth, width)
        const high = Math.round((wide * height) / width)
        return { png: picture(wide, high) }
      }
      const server = await startServer({ enableTools: true }, { capture: backend })
      const session = await RawSession.open(server.url)
      const params = { name: 'look', arguments: { max_width: maxSide } }
      const { result } = await session.call('tools/call', params)
      await server.stop()
      const size = await moderate(result.content[0].data)
      expect(Math.min(size.width, size.height)).to.be.at.least(200)
    })
  }
})
