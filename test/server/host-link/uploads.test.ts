import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Bench, type Linked, errorOf } from './bench.ts'
import { type Message, welcome, within } from './scripted-server.ts'

const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const mime = 'application/octet-stream'

describe('HostClient, sending artefacts', () => {
  let bench: Bench
  let folder: string
  beforeEach(async () => {
    bench = new Bench()
    folder = await mkdtemp(join(tmpdir(), 'host-uploads-'))
  })
  afterEach(async () => {
    await bench.end()
    await rm(folder, { recursive: true, force: true })
  })

  /** A server that takes each artefact when it has its bytes. */
  async function taking(limits: object = {}): Promise<Linked> {
    const script = {
      welcome: { ...welcome, limits: { ...welcome.limits, ...limits } },
      answer: ({ type }: Message) => (type === 'artefact.put' ? null : {}),
    }
    const linked = await bench.linked(script)
    const { peer } = linked
    let before = 0
    peer.socket.on('message', () => {
      const open = peer.of('artefact.put').at(-1)
      const length = peer.frames.reduce((sum, frame) => sum + frame.length, -before)
      if (open === undefined || open.done || length < open.size) return
      const bytes = peer.bytes.subarray(before)
      open.done = true
      before += bytes.length
      const sha256 = hashOf(bytes)
      const uri = `artefact://sha256/${sha256}`
      peer.send({ type: 'ok', id: open.id, uri, sha256, existed: false })
    })
    return linked
  }

  it('refuses one more than may wait, and rejects one that is not answered in time', async () => {
    const { host } = await bench.linked(
      { answer: () => null },
      { limits: { maxUploads: 1, uploadAnswerTimeoutMs: 50 } },
    )
    const first = errorOf(host.putArtefact(Buffer.from('x'), { mime }))
    const second = await errorOf(host.putArtefact(Buffer.from('y'), { mime }))
    expect(second).to.include({ name: 'HostLinkError', code: 'limit', retryable: true })
    expect(await within(first, 'the end of the first')).to.include({ code: 'timeout' })
  })

  it('keeps the order of the calls when a file takes longer to be found than bytes at hand', async () => {
    const { host, peer } = await taking()
    const path = join(folder, 'still.png')
    await writeFile(path, Buffer.alloc(300_000, 'b'))
    const puts = [host.putArtefact(path, { mime }), host.putArtefact(Buffer.from('x'), { mime })]
    await within(Promise.all(puts), 'both artefacts')
    expect(peer.of('artefact.put').map(({ size }) => size)).to.deep.equal([300_000, 1])
  })

  it('sends bytes, a file and a stream, one after the other, in frames that fit', async () => {
    const { host, peer } = await taking({ max_message_bytes: 70_000 })
    const bytes = Buffer.alloc(150_000, 'a')
    const path = join(folder, 'still.png')
    await writeFile(path, Buffer.alloc(300_000, 'b'))
    async function* stream() {
      yield Buffer.from('one ')
      yield Buffer.from('two')
    }
    const facts = { mime: 'image/png', displayName: 'still.png', jobId: 'j', metadata: { w: 1 } }
    const answers = await within(
      Promise.all([
        host.putArtefact(bytes, facts),
        host.putArtefact(path, { mime }),
        host.putArtefact({ size: 7, stream: stream() }, { mime }),
        host.putArtefact(new Uint8Array(), { mime }),
      ]),
      'the uploads',
    )
    const hashes = [bytes, Buffer.alloc(300_000, 'b'), Buffer.from('one two'), Buffer.alloc(0)].map(
      hashOf,
    )
    expect(answers).to.deep.equal(
      hashes.map(sha256 => ({ uri: `artefact://sha256/${sha256}`, sha256, existed: false })),
    )
    const { id: _, done: __, ...put } = peer.of('artefact.put')[0] as Message
    expect(put).to.deep.equal({
      type: 'artefact.put',
      mime: 'image/png',
      size: 150_000,
      display_name: 'still.png',
      job_id: 'j',
      metadata: { w: 1 },
    })
    expect(Math.max(...peer.frames.map(frame => frame.length))).to.equal(70_000)
  })

  it('reads a stream no faster than the server takes it', async () => {
    const { host, peer } = await taking()
    let read = 0
    async function* stream() {
      for (; read < 32; read++) yield Buffer.alloc(1024 * 1024, read)
    }
    peer.socket.pause()
    const put = host.putArtefact({ size: 32 * 1024 * 1024, stream: stream() }, { mime })
    // What the kernel and the client hold together is some megabytes.
    let last = -1
    while (read === 0 || read !== last) {
      last = read
      await new Promise(resolve => setTimeout(resolve, 100))
    }
    expect(read).to.be.within(1, 16)
    peer.socket.resume()
    expect((await within(put, 'the upload')).existed).to.equal(false)
    expect(read).to.equal(32)
  })

  it('gives up what its source cannot deliver, and sends the next one', async () => {
    const { host, peer } = await taking()
    peer.answer = ({ type }) => (type === 'artefact.put' ? null : {})
    peer.socket.on('message', () => {
      const [abort] = peer.of('artefact.abort').splice(-1)
      if (abort === undefined || abort.done) return
      abort.done = true
      peer.frames.length = 0
      const said = { code: 'mismatch', message: 'given up', retryable: false }
      peer.send({ type: 'error', id: abort.upload, ...said })
    })
    async function* breaking() {
      yield Buffer.from('half')
      throw new Error('the disk is gone')
    }
    async function* short() {
      yield Buffer.from('half')
    }
    const put = (size: number, stream: AsyncIterable<Uint8Array>) =>
      host.putArtefact({ size, stream }, { mime })
    expect(await errorOf(put(9, breaking()))).to.include({ message: 'the disk is gone' })
    expect(await errorOf(put(9, short()))).to.include({ code: 'mismatch' })
    expect(await errorOf(put(3, short()))).to.include({ code: 'mismatch' })
    const aborted = peer.of('artefact.abort').map(({ upload }) => upload)
    expect(aborted).to.deep.equal(peer.of('artefact.put').map(({ id }) => id))
  })

  it('stops sending when the server refuses it on the way', async () => {
    const { host, peer } = await bench.linked({ answer: () => null })
    let read = 0
    const { promise: refused, resolve } = Promise.withResolvers<void>()
    async function* stream() {
      yield Buffer.from('first')
      await refused
      for (; read < 10; read++) yield Buffer.alloc(1000)
    }
    const put = errorOf(host.putArtefact({ size: 10_005, stream: stream() }, { mime }))
    const { id } = await peer.next('artefact.put')
    peer.send({ type: 'error', id, code: 'limit', message: 'no room', retryable: false })
    peer.send({ type: 'newer.question', id: 'q' })
    await peer.next('error')
    resolve()
    expect(await put).to.include({ code: 'limit', message: 'no room' })
    expect(peer.bytes.toString()).to.equal('first')
    expect(read).to.equal(0)
  })

  it('does not wait for a source that hangs when the link is lost or the caller gives up', async () => {
    const { server, host, peer } = await taking()
    const hanging = { size: 5, stream: { [Symbol.asyncIterator]: () => ({ next: never }) } }
    const given = new AbortController()
    const first = errorOf(host.putArtefact(hanging, { mime }, { signal: given.signal }))
    given.abort()
    expect(await first).to.include({ code: 'stopped' })
    const lost = errorOf(host.putArtefact(hanging, { mime }))
    peer.socket.terminate()
    expect(await lost).to.include({ code: 'disconnected', retryable: true })
    await server.peer(2)
  })

  const refusals: [name: string, limits: object, input: any, expected: object][] = [
    ['a server that keeps none', { max_artefact_bytes: null }, 'bytes', { code: 'unsupported' }],
    ['one that is too large', { max_artefact_bytes: 4 }, 'bytes', { code: 'limit' }],
    ['a file that is not there', {}, '/nowhere/at/all', { code: 'ENOENT' }],
    ['a folder', {}, tmpdir(), { name: 'TypeError' }],
    ['a size that is none', {}, { size: -1, stream: [] }, { name: 'TypeError' }],
  ]
  for (const [name, limits, input, expected] of refusals) {
    it(`says no to ${name} before anything is sent`, async () => {
      const { host, peer } = await taking(limits)
      const bytes = input === 'bytes' ? Buffer.from('12345') : input
      expect(await errorOf(host.putArtefact(bytes, { mime }))).to.include(expected)
      expect(peer.of('artefact.put')).to.deep.equal([])
    })
  }

  it('refuses a named pipe at once, before anything is sent', async () => {
    const { host, peer } = await taking()
    const pipe = join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    const error = await within(errorOf(host.putArtefact(pipe, { mime })), 'the refusal')
    expect(error).to.include({ name: 'TypeError', message: `${pipe} is not a regular file` })
    expect(peer.of('artefact.put')).to.deep.equal([])
  })

  const facts: [name: string, facts: object][] = [
    ['a mime that is none', { mime: 'png' }],
    ['no mime', { mime: undefined }],
    ['a hash in capitals', { sha256: 'F'.repeat(64) }],
    ['a time without a zone', { expiresAt: '2030-01-31T12:00:00' }],
    ['an empty name', { displayName: '' }],
    ['a name of two lines', { jobId: 'a\nb' }],
    ['metadata that are no object', { metadata: [1] }],
    ['metadata that are too large', { metadata: { text: 'x'.repeat(65_536) } }],
  ]
  for (const [name, wrong] of facts) {
    it(`says no to ${name} before anything is sent`, async () => {
      const { host, peer } = await taking()
      const put = host.putArtefact(Buffer.from('a'), { mime, ...wrong } as { mime: string })
      expect(await errorOf(put)).to.be.an.instanceof(TypeError)
      expect(peer.of('artefact.put')).to.deep.equal([])
    })
  }

  it('says so when no server is connected, and when the server took other bytes', async () => {
    const alone = bench.client('http://127.0.0.1:1/host')
    expect(await errorOf(alone.putArtefact(Buffer.from('a'), { mime }))).to.include({
      code: 'disconnected',
    })
    const { host, peer } = await bench.linked({
      answer: () => ({ uri: 'artefact://sha256/0', sha256: '0', existed: false }),
    })
    expect(await errorOf(host.putArtefact(Buffer.from('a'), { mime }))).to.include({
      code: 'mismatch',
    })
    expect(peer.of('artefact.put')).to.have.length(1)
  })
})

function never(): Promise<never> {
  return new Promise(() => {})
}
