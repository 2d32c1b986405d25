import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { LinkServer, bearer, head } from './harness.ts'
import type { MemoryArtefacts } from './memory-artefacts.ts'

const png = { ...bearer, 'Content-Type': 'image/png' }

describe('POST /host/v1/artefacts', () => {
  let host: LinkServer
  let store: MemoryArtefacts
  beforeEach(async () => {
    host = await LinkServer.start({ limits: { maxArtefactBytes: 300_000, bodyTimeoutMs: 100 } })
    store = host.memory
  })
  afterEach(() => host.stop())

  const bytes = Buffer.from([0, 255, 1, 254, 10, 13])
  const hex = createHash('sha256').update(bytes).digest('hex')

  it('stores the raw body under its hash and tells whether it was there', async () => {
    const first = await host.post('/host/v1/artefacts', bytes, png)
    expect(first.status).to.equal(201)
    expect(first.text).to.equal(
      JSON.stringify({ uri: `artefact://sha256/${hex}`, sha256: hex, existed: false }),
    )
    const second = await host.post('/host/v1/artefacts', bytes, png)
    expect(second.body.existed).to.equal(true)
    expect(store.stored.get(hex)?.bytes.equals(bytes)).to.equal(true)
  })

  it('hands over the content type and every sidecar member', async () => {
    const query = new URLSearchParams({
      display_name: 'frame 0001 + ä.png',
      session_id: 's',
      tool_call_id: 't',
      job_id: 'j',
      correlation_id: 'c',
      expires_at: '2030-01-02T03:04:05Z',
      metadata: '{"frame":[1]}',
    })
    await host.post(`/host/v1/artefacts?${query}`, bytes, png)
    expect(store.stored.get(hex)?.fields).to.deep.equal({
      mime: 'image/png',
      display_name: 'frame 0001 + ä.png',
      session_id: 's',
      tool_call_id: 't',
      job_id: 'j',
      correlation_id: 'c',
      expires_at: '2030-01-02T03:04:05.000Z',
      metadata: { frame: [1] },
    })
  })

  const wrong: [query: string, pointer: string][] = [
    ['expires_at=tomorrow', '/expires_at'],
    ['metadata={', '/metadata'],
    [`metadata=${'['.repeat(65)}`, '/metadata'],
    [`job_id=${'x'.repeat(256)}`, '/job_id'],
  ]
  it('answers 400 to a wrong query, and names the parameter', async () => {
    for (const [query, pointer] of wrong) {
      const answer = await host.post(`/host/v1/artefacts?${query}`, bytes, png)
      expect(answer.status, query).to.equal(400)
      expect(answer.body.errors?.[0]?.pointer).to.equal(pointer)
    }
    expect(store.stored.size).to.equal(0)
  })

  it('answers 413 to a declared length over the limit, before reading', async () => {
    const connection = await host.raw()
    connection.socket.write(head('/host/v1/artefacts', { ...bearer, 'Content-Length': 300_001 }))
    await connection.until('body-too-large')
    expect(connection.received).to.match(/^HTTP\/1\.1 413 /)
    expect(store.broken).to.equal(1)
    connection.socket.destroy()
  })

  it('answers 413 to a stream over the limit and stores nothing', async () => {
    const chunked = { ...png, 'Transfer-Encoding': 'chunked' }
    const answer = await host.post('/host/v1/artefacts', Buffer.alloc(300_001), chunked)
    expect(answer.status).to.equal(413)
    expect(answer.headers.connection).to.equal('close')
    expect(store.stored.size).to.equal(0)
    const fits = await host.post('/host/v1/artefacts', Buffer.alloc(300_000), chunked)
    expect(fits.status).to.equal(201)
  })

  it('stores nothing of an upload that breaks off', async () => {
    const connection = await host.raw()
    const started = new Promise<void>(resolve => (store.onFirstBytes = resolve))
    const broken = new Promise<void>(resolve => (store.onBroken = resolve))
    connection.socket.write(head('/host/v1/artefacts', { ...png, 'Content-Length': 1000 }) + 'half')
    await started
    connection.socket.destroy()
    await broken
    expect(store.stored.size).to.equal(0)
    expect(host.errors).to.deep.equal([])
  })
})

describe('DELETE /host/v1/artefacts/<hex>', () => {
  let host: LinkServer
  before(async () => (host = await LinkServer.start()))
  after(() => host.stop())

  const bytes = Buffer.from('to be removed')
  const hex = createHash('sha256').update(bytes).digest('hex')
  const remove = (name: string, headers = bearer) =>
    host.send('DELETE', `/host/v1/artefacts/${name}`, headers)

  it('removes what is stored, once, and refuses what is no name', async () => {
    await host.post('/host/v1/artefacts', bytes, png)
    const removed = await remove(hex)
    expect([removed.status, removed.text]).to.deep.equal([
      200,
      JSON.stringify({ ok: true, uri: `artefact://sha256/${hex}` }),
    ])
    expect(host.memory.stored.size).to.equal(0)
    const again = await remove(hex)
    expect([again.status, again.body.code]).to.deep.equal([404, 'resource-not-found'])
    for (const name of ['', hex.toUpperCase(), hex.slice(1), `${hex}/..`]) {
      expect((await remove(name)).status, name).to.be.oneOf([400, 404])
    }
    const other = await host.send('GET', `/host/v1/artefacts/${hex}`, bearer)
    expect([other.status, other.headers.allow]).to.deep.equal([405, 'DELETE'])
  })
})
