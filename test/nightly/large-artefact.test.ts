import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { RawSession } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { BlobRead, uploadGenerated } from './artefact-bytes.ts'
import { until } from '../helpers/until.ts'

const MiB = 1024 * 1024
/** What the server may grow by, whatever the size of the artefact. */
const maxGrowth = 100 * MiB

/** In and out of the real program. */
const mib = Number(process.env.ARTEFACT_MIB ?? 64)
const size = mib * MiB + 1

describe(`an artefact of ${mib} MiB`, function () {
  this.timeout(60_000 + mib * 300)
  let serve: ServeProcess
  let session: RawSession
  let hex: string
  let uri: string
  let startBytes: number

  const expectSmall = () => expect(serve.rss().peak - startBytes).to.be.below(maxGrowth)

  before(async () => {
    serve = await startServeProcess()
    session = await RawSession.open(serve.url)
    // Code that runs for the first time takes memory of its own; 9 MiB are streamed already.
    const warm = await uploadGenerated(serve, 9 * MiB)
    await new BlobRead(serve, session.id, `artefact://sha256/${warm}`).answer()
    serve.resetPeak()
    startBytes = serve.rss().now
    hex = await uploadGenerated(serve, size)
    uri = `artefact://sha256/${hex}`
  })

  afterEach(expectSmall)

  it('is stored without being held', expectSmall)

  it('is read whole through resources/read', async () => {
    const answer = await new BlobRead(serve, session.id, uri).answer()
    const { result } = JSON.parse(answer.frame)
    const origin = { instance_id: serve.instanceId, dcc_type: 'unknown' }
    expect(result.contents).to.deep.equal([
      { uri, mimeType: 'model/x-large', blob: '', _meta: { 'service-cli/artefact': origin } },
    ])
    expect(answer).to.include({ status: 200, sha256: hex, bytes: size, whole: true })
  })

  it('is read through the download path, whole and by ranges', async () => {
    const { res, sha256, bytes } = await download({})
    expect(res.statusCode).to.equal(200)
    expect(res.headers['content-length']).to.equal(String(size))
    expect({ sha256, bytes }).to.deep.equal({ sha256: hex, bytes: size })
    for (const [first, last] of [
      [MiB - 3, MiB + 3],
      [size - 5 * MiB, size - 1],
    ] as const) {
      const part = await download({ Range: `bytes=${first}-${last}` })
      expect(part.res.statusCode).to.equal(206)
      expect(part.res.headers['content-range']).to.equal(`bytes ${first}-${last}/${size}`)
      expect(part.bytes).to.equal(last - first + 1)
    }
  })

  it('waits in the file, not in memory, for a reader that stops reading', async () => {
    const slow = new BlobRead(serve, session.id, uri)
    await until(() => slow.bytes > 0, 'the first bytes')
    slow.pause()
    // As long as another one takes to read everything, the server could run ahead of this one.
    const other = await new BlobRead(serve, session.id, uri).answer()
    expect(other).to.include({ sha256: hex, whole: true })
    expect(slow.bytes).to.be.below(size)
    expectSmall()
    slow.resume()
    expect(await slow.answer()).to.include({ sha256: hex, whole: true })
  })

  async function download(headers: Record<string, string>) {
    const hash = createHash('sha256')
    let bytes = 0
    const url = `${serve.base}/artefacts/sha256/${hex}`
    const req = httpRequest(url, { headers, agent: false }).end()
    const [res] = (await once(req, 'response')) as [IncomingMessage]
    for await (const chunk of res) {
      hash.update(chunk)
      bytes += chunk.length
    }
    return { res, sha256: hash.digest('hex'), bytes }
  }
})
