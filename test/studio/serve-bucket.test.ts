import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { RawSession } from '../helpers/mcp.ts'
import { type ServeProcess, runServe, startServeProcess } from '../helpers/serve-process.ts'
import { type Swift, useSwift } from './swift.ts'

describe('servers that keep artefacts in one bucket', () => {
  let swift: Swift
  let bucket: string
  let one: ServeProcess
  let two: ServeProcess
  before(async function () {
    swift = await useSwift(this)
    bucket = `${await swift.bucket()}/studio`
    const start = () =>
      startServeProcess({ flags: ['--artefacts', bucket, '--capture', 'off'], env: swift.env })
    ;[one, two] = await Promise.all([start(), start()])
  })

  const download = (server: ServeProcess, hex: string, headers: Record<string, string> = {}) =>
    fetch(`${server.base}/artefacts/sha256/${hex}`, { headers })

  it('serve what the other one has stored, whole, in ranges and over MCP', async () => {
    const bytes = randomBytes(20_000_000)
    const hex = await one.store(bytes, '?display_name=big.bin')
    const whole = await download(two, hex)
    expect(whole.status).to.equal(200)
    expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).to.equal(true)
    const range = await download(two, hex, { Range: 'bytes=8388600-8388615' })
    expect(range.status).to.equal(206)
    const part = Buffer.from(await range.arrayBuffer())
    expect(part.equals(bytes.subarray(8_388_600, 8_388_616))).to.equal(true)

    const small = await one.store('some text', '?display_name=note.txt', 'text/plain')
    const session = await RawSession.open(one.url)
    const { resources } = (await session.call('resources/list', {})).result
    expect(resources.map(({ name }: { name: string }) => name)).to.include.members([
      'big.bin',
      'note.txt',
    ])
    const uri = `artefact://sha256/${small}`
    const other = await RawSession.open(two.url)
    const { contents } = (await other.call('resources/read', { uri })).result
    expect(Buffer.from(contents[0].blob, 'base64').toString()).to.equal('some text')
    const sliced = await other.call('resources/read', { uri: `${uri}?as=text&offset=5` })
    expect(sliced.result.contents[0].text).to.equal('text')
  })

  it('answer 503 while the bucket is away, list the rest, and go on', async () => {
    const hex = await one.store('before')
    await swift.stop()
    try {
      const answer = await download(two, hex)
      expect(answer.status).to.equal(503)
      expect(answer.headers.get('retry-after')).to.equal('1')
      expect(await answer.json()).to.include({
        code: 'storage-unavailable',
        detail: 'the server cannot reach its storage now; try again',
      })
      const refused = await one.post('artefacts', 'x', { 'Content-Type': 'text/plain' })
      expect(refused.status).to.equal(503)
      const session = await RawSession.open(two.url)
      const { result } = await session.call('resources/list', {})
      expect(result.resources.map((each: { uri: string }) => each.uri)).to.include(
        'scene://current',
      )
      const uri = `artefact://sha256/${hex}`
      const { error } = await session.call('resources/read', { uri })
      expect(error).to.include({ code: -32603 })
      expect(JSON.stringify(error)).not.to.match(/127\.0\.0\.1|s3:|bucket-/)
    } finally {
      await swift.start()
    }
    expect((await download(two, hex)).status).to.equal(200)
  })

  it('write no secret', () => {
    const { AWS_SECRET_ACCESS_KEY: secret = '' } = swift.env
    for (const { stdout, stderr } of [one.output(), two.output()]) {
      expect(stderr).to.contain(`${bucket}/: the artefact was not`)
      expect(stdout + stderr).not.to.contain(secret)
      expect(stdout + stderr).not.to.match(/authorization|signature=/i)
    }
  })

  it('do not start when the bucket is missing, or the key is wrong', async () => {
    const start = (address: string, more: Record<string, string> = {}) =>
      runServe(['--artefacts', address, '--port', '0'], { ...swift.env, ...more })
    const missing = await start('s3://missing-bucket')
    expect(missing.code).to.not.equal(0)
    expect(missing.stderr).to.contain('s3://missing-bucket/').and.contain('NoSuchBucket')
    const refused = await start(bucket, { AWS_SECRET_ACCESS_KEY: 'another-word' })
    expect(refused.code).to.not.equal(0)
    expect(refused.stderr).to.contain('SignatureDoesNotMatch')
    expect(refused.stdout + refused.stderr).not.to.contain('another-word')
  })
})
