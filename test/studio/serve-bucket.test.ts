import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { until } from '../helpers/until.ts'
import { RawSession } from '../helpers/mcp.ts'
import { runProgram } from '../helpers/program.ts'
import { type ServeProcess, runServe, startServeProcess } from '../helpers/serve-process.ts'
import { newPlace, type Place } from './bucket-stores.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { type Swift, useSwift } from './swift.ts'

describe('servers that keep artefacts in one bucket', () => {
  let postgres: Postgres
  let swift: Swift
  let place: Place
  let one: ServeProcess
  let two: ServeProcess
  const env = () => ({ ...swift.env, SERVICE_DATABASE_URL: place.database })
  before(async function () {
    postgres = await startPostgres(this)
    swift = await useSwift(this)
    place = await newPlace(postgres, await swift.bucket())
    const start = () =>
      startServeProcess({ flags: ['--artefacts', place.bucket, '--capture', 'off'], env: env() })
    ;[one, two] = await Promise.all([start(), start()])
  })
  after(async () => {
    await Promise.all([one?.stop(), two?.stop()])
    await postgres?.remove()
  })

  const ok = { state: 'connected' }
  /** What `/readyz` says: a server without its artefacts still serves the rest. */
  async function health({ base }: ServeProcess) {
    const answer = await fetch(`${base}/readyz`)
    expect(answer.status).to.equal(200)
    const { status, artefacts } = (await answer.json()) as {
      status: string
      artefacts: Record<'bucket' | 'database', { state: string; reason?: string }>
    }
    expect(status).to.equal('ready')
    return artefacts
  }
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
    const session = await RawSession.open(two.url)
    const { resources } = (await session.call('resources/list', {})).result
    expect(resources.map(({ name }: { name: string }) => name)).to.include.members([
      'big.bin',
      'note.txt',
    ])
    const uri = `artefact://sha256/${small}`
    const { contents } = (await session.call('resources/read', { uri })).result
    expect(Buffer.from(contents[0].blob, 'base64').toString()).to.equal('some text')
    const sliced = await session.call('resources/read', { uri: `${uri}?as=text&offset=5` })
    expect(sliced.result.contents[0].text).to.equal('text')
  })

  it('answer 503 while the bucket is away, keep listing, and go on', async () => {
    const hex = await one.store('before')
    expect(await health(two)).to.deep.equal({ bucket: ok, database: ok })
    await swift.stop()
    try {
      const reason = 'connection refused (ECONNREFUSED)'
      await until(async () => (await health(two)).bucket.state === 'away', 'it is noticed')
      const away = { state: 'away', reason }
      expect(await health(two)).to.deep.equal({ bucket: away, database: ok })
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
      const { resources } = (await session.call('resources/list', {})).result
      const uri = `artefact://sha256/${hex}`
      expect(resources.map((each: { uri: string }) => each.uri)).to.include(uri)
      const { error } = await session.call('resources/read', { uri })
      expect(error).to.include({ code: -32603 })
      expect(JSON.stringify(error)).not.to.match(/127\.0\.0\.1|s3:|bucket-/)
    } finally {
      await swift.start()
    }
    expect((await download(two, hex)).status).to.equal(200)
    await until(async () => (await health(two)).bucket.state === 'connected', 'it is noticed')
  })

  it('answer 503 while the database is away, and go on', async () => {
    const hex = await one.store('kept')
    postgres.stop()
    try {
      const answer = await download(two, hex)
      expect(answer.status).to.equal(503)
      expect(await answer.json()).to.include({ code: 'storage-unavailable' })
      const session = await RawSession.open(two.url)
      const { result } = await session.call('resources/list', {})
      expect(result.resources.map((each: { uri: string }) => each.uri)).to.include(
        'scene://current',
      )
      const incomplete = 'artefacts cannot be listed now'
      expect(result._meta).to.deep.equal({ 'service-cli/incomplete': incomplete })
      const tool = { name: 'list_resources', arguments: { query: 'kept' } }
      const { content } = (await session.call('tools/call', tool)).result
      expect(content[0].text).to.equal(`no resource matches\n${incomplete}`)
      const list = await runProgram(['artefacts', 'list', '--url', two.url])
      expect(list.code).to.equal(1)
      expect(list.stderr).to.contain(incomplete)
      await until(async () => (await health(two)).database.state === 'away', 'it is noticed')
      const { bucket, database } = await health(two)
      expect(bucket).to.deep.equal(ok)
      expect(database.reason).to.match(/^(connection refused|the connection was cut)/)
    } finally {
      postgres.start()
    }
    await until(async () => (await download(two, hex)).status === 200, 'it goes on')
  })

  it('write no secret', () => {
    const { AWS_SECRET_ACCESS_KEY: secret = '' } = swift.env
    for (const { stdout, stderr } of [one.output(), two.output()]) {
      expect(stderr).to.contain(`${place.bucket}/: the object was not`)
      expect(stdout + stderr).not.to.contain(secret)
      expect(stdout + stderr).not.to.match(/authorization|signature=/i)
    }
  })

  it('do not start when the bucket is missing, or the key is wrong', async () => {
    const start = (address: string, more: Record<string, string> = {}) =>
      runServe(['--artefacts', address, '--port', '0'], { ...env(), ...more })
    const missing = await start('s3://missing-bucket')
    expect(missing.code).to.not.equal(0)
    expect(missing.stderr).to.contain('s3://missing-bucket/').and.contain('does not exist')
    const refused = await start(place.bucket, { AWS_SECRET_ACCESS_KEY: 'another-word' })
    expect(refused.code).to.not.equal(0)
    expect(refused.stderr).to.contain('the secret key is wrong')
    expect(refused.stdout + refused.stderr).not.to.contain('another-word')
  })
})
