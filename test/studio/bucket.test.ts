import { expect } from 'chai'
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import type { Bucket } from '../../src/server/artefacts/bucket/bucket.ts'
import { failureOf } from '../helpers/failure.ts'
import { type Swift, useSwift } from './swift.ts'

describe('a bucket', () => {
  let swift: Swift
  let address: string
  let bucket: Bucket
  before(async function () {
    swift = await useSwift(this)
    address = await swift.bucket()
    bucket = await swift.open(`${address}/studio`)
  })
  after(() => bucket?.close())

  const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
  async function* pieces(...parts: Uint8Array[]) {
    yield* parts
  }
  async function read(key: string, start: number, end: number): Promise<Buffer> {
    const facts = await bucket.head(key)
    const stream = await bucket.get(key, facts?.etag ?? '', start, end)
    if (stream === null) throw new Error('no such object')
    return Buffer.concat(await Array.fromAsync(stream))
  }

  it('returns ranges of a stream of several parts', async () => {
    const parts = Array.from({ length: 20 }, () => randomBytes(1024 * 1024))
    await bucket.put('a', pieces(...parts))
    const whole = Buffer.concat(parts)
    expect(await bucket.head('a')).to.include({ size: whole.length })
    expect(sha256(await read('a', 0, whole.length))).to.equal(sha256(whole))
    const border = 8 * 1024 * 1024
    const around = whole.subarray(border - 3, border + 3)
    expect((await read('a', border - 3, border + 3)).equals(around)).to.equal(true)
  })

  it('tells a missing or removed object, and another one under its key', async () => {
    expect(await bucket.head('missing')).to.equal(null)
    expect(await bucket.get('missing', '"x"', 0, 1)).to.equal(null)
    expect(await bucket.readText('missing')).to.equal(null)
    await bucket.put('b', pieces(Buffer.from('one')))
    const facts = await bucket.head('b')
    await bucket.put('b', pieces(Buffer.from('two')))
    expect(await bucket.get('b', facts?.etag ?? '', 0, 3)).to.equal(null)
    for (let round = 0; round < 2; round++) {
      await bucket.remove('b')
      expect(await bucket.head('b')).to.equal(null)
    }
  })

  it('keeps the objects of another prefix apart', async () => {
    const other = await swift.open(`${address}/other`)
    await bucket.writeText('name', 'studio')
    expect(await other.readText('name')).to.equal(null)
    expect(await bucket.readText('name')).to.equal('studio')
    other.close()
  })

  it('leaves nothing of an upload whose source fails', async () => {
    const gone = new Error('gone')
    async function* failing() {
      for (let at = 0; at < 10; at++) yield randomBytes(2 * 1024 * 1024)
      throw gone
    }
    const caught = await bucket.put('d', failing()).catch((error: unknown) => error)
    expect(caught).to.equal(gone)
    expect(await bucket.head('d')).to.equal(null)
    expect(await openUploads()).to.deep.equal([])
  })

  it('removes the parts of an upload that was not finished', async () => {
    const upload = { Bucket: address.slice('s3://'.length), Key: 'studio/e' }
    await swift.withClient((client, s3) => client.send(new s3.CreateMultipartUploadCommand(upload)))
    expect(await openUploads()).to.deep.equal(['studio/e'])
    await bucket.remove('e')
    expect(await openUploads()).to.deep.equal([])
  })

  describe('of a server that answers wrongly', () => {
    const servers: Server[] = []
    afterEach(() => {
      for (const server of servers.splice(0)) server.close().closeAllConnections()
    })

    async function wrong(answer: RequestListener): Promise<Bucket> {
      const server = createServer(answer).listen(0, '127.0.0.1')
      servers.push(server)
      await once(server, 'listening')
      return swift.open(address, `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    }

    it('refuses another range, and takes no bytes of an object with another ETag', async () => {
      const hostile = await wrong((_, res) => {
        res.writeHead(206, { ETag: '"x"', 'Content-Range': 'bytes 0-4/9' }).end('wrong')
      })
      const failure = await failureOf(() => hostile.get('k', '"x"', 4, 9))
      expect(failure.code).to.equal('storage_unavailable')
      expect(failure.message).to.contain('another range')
      const whole = await wrong((_, res) => res.writeHead(200, { ETag: '"x"' }).end('whole'))
      expect((await failureOf(() => whole.get('k', '"x"', 4, 9))).message).to.contain('range')
      const other = await wrong((_, res) => {
        res.writeHead(206, { ETag: '"y"', 'Content-Range': 'bytes 4-8/9' }).end('other')
      })
      expect(await other.get('k', '"x"', 4, 9)).to.equal(null)
      for (const each of [hostile, whole, other]) each.close()
    })

    it('reports a server that is busy, and one that is not of S3', async () => {
      const busy = await wrong((_, res) => res.writeHead(503).end())
      expect((await failureOf(() => busy.head('k'))).code).to.equal('storage_unavailable')
      const page = await wrong((_, res) => res.writeHead(200).end('<html>'))
      expect((await failureOf(() => page.head('k'))).message).to.contain('without ETag')
      busy.close()
      page.close()
    })
  })

  async function openUploads(): Promise<string[]> {
    const Bucket = address.slice('s3://'.length)
    const { Uploads = [] } = await swift.withClient((client, s3) =>
      client.send(new s3.ListMultipartUploadsCommand({ Bucket })),
    )
    return Uploads.map(({ Key }) => Key ?? '')
  }
})
