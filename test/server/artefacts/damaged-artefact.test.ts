import { randomBytes } from 'node:crypto'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { ask, RawSession } from '../../helpers/mcp.ts'
import { BlobRead, uploadGenerated } from '../../nightly/artefact-bytes.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const MiB = 1024 * 1024

describe('an artefact damaged on disk', () => {
  let serve: RunningServe
  let session: RawSession

  before(async () => {
    serve = await serveInProcess()
    session = await RawSession.open(serve.url)
  })

  after(() => serve.stop())

  it('is an internal error when small, then not stored any more', async () => {
    const hex = await serve.store(randomBytes(1000))
    await damage(hex, 500)
    const { error } = await session.call('resources/read', { uri: `artefact://sha256/${hex}` })
    expect(error.code).to.equal(-32603)
    expect(error.data.reason).to.equal('artefact_corrupt')
    expect(error.data.hint).to.equal('store the artefact again; the damaged file was moved aside')
    expect(JSON.stringify(error)).not.to.contain(serve.registryDir)
    await expectGone(hex)
  })

  it('breaks the answer off before its end when large, then is not stored any more', async () => {
    const hex = await uploadGenerated(serve, 20 * MiB)
    // In the last bytes: all before them is on its way when the hash turns out wrong.
    await damage(hex, 20 * MiB - 1)
    const read = new BlobRead(serve, session.id, `artefact://sha256/${hex}`)
    const answer = await read.answer()
    expect(answer.status).to.equal(200)
    expect(answer.whole).to.equal(false)
    expect(answer.bytes).to.be.below(20 * MiB)
    expect(answer.frame).to.match(/"blob":"$/)
    await expectGone(hex)
  })

  it('breaks a batch off when one of its answers is damaged', async () => {
    const old = await RawSession.open(serve.url, '2025-03-26')
    const hex = await uploadGenerated(serve, 10 * MiB)
    await damage(hex, 10 * MiB - 1)
    const uri = `artefact://sha256/${hex}`
    const batch = [1, 2].map(id => ({
      jsonrpc: '2.0',
      id,
      method: 'resources/read',
      params: { uri },
    }))
    const broken = await old.post(JSON.stringify(batch)).catch((error: Error) => error)
    expect(broken).to.be.an('error')
    await expectGone(hex)
  })

  it('breaks a download off, or answers 500 when small', async () => {
    const small = await serve.store(randomBytes(1000))
    await damage(small, 0)
    const answer = await ask(`${serve.base}/artefacts/sha256/${small}`)
    expect(answer.status).to.equal(500)
    expect(answer.json.code).to.equal('artefact-corrupt')
    await expectGone(small)

    const large = await uploadGenerated(serve, 11 * MiB)
    await damage(large, 11 * MiB - 1)
    const broken = await ask(`${serve.base}/artefacts/sha256/${large}`).catch(
      (error: Error) => error,
    )
    expect(broken).to.be.an('error')
    await expectGone(large)
  })

  it('that lost its end is an internal error before the first byte', async () => {
    const hex = await uploadGenerated(serve, 9 * MiB)
    const file = await open(bodyPath(hex), 'r+')
    await file.truncate(9 * MiB - 1)
    await file.close()
    const uri = `artefact://sha256/${hex}`
    const answer = await session
      .post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } }))
      .catch((error: Error) => error)
    // Refused as an answer, or cut: never a whole answer with a blob in it.
    if (!(answer instanceof Error)) expect(answer.json.error.code).to.equal(-32603)
    await expectGone(hex)
  })

  it('can be stored again', async () => {
    const bytes = randomBytes(5000)
    const hex = await serve.store(bytes)
    await damage(hex, 10)
    await session.call('resources/read', { uri: `artefact://sha256/${hex}` })
    expect(await serve.store(bytes)).to.equal(hex)
    const { result } = await session.call('resources/read', { uri: `artefact://sha256/${hex}` })
    expect(result.contents[0].blob).to.equal(bytes.toString('base64'))
  })

  function bodyPath(hex: string): string {
    return join(serve.registryDir, 'dcc-mcp-artefacts', 'sha256', hex.slice(0, 2), hex)
  }

  async function damage(hex: string, position: number): Promise<void> {
    const file = await open(bodyPath(hex), 'r+')
    const byte = Buffer.alloc(1)
    await file.read(byte, 0, 1, position)
    byte[0] = (byte[0] ?? 0) ^ 1
    await file.write(byte, 0, 1, position)
    await file.close()
  }

  /** The next read does not find it, the list is without it, the bytes are kept aside. */
  async function expectGone(hex: string): Promise<void> {
    const uri = `artefact://sha256/${hex}`
    const { error } = await session.call('resources/read', { uri })
    expect(error).to.deep.include({ code: -32002, data: { uri } })
    const { result } = await session.call('resources/list')
    expect(result.resources.map((each: { uri: string }) => each.uri)).not.to.include(uri)
    const all = await readdir(join(serve.registryDir, 'dcc-mcp-artefacts'), { recursive: true })
    const kept = all.filter(path => path.includes(hex))
    expect(kept).to.have.lengthOf(1)
    expect(kept[0]).to.match(/quarantine/)
    expect((await ask(`${serve.base}/artefacts/sha256/${hex}`)).status).to.equal(404)
  }
})
