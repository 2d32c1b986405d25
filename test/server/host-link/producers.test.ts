import { expect } from 'chai'
import { HostBusy, type HostProducer, ResourceNotFound } from '../../../src/host-client.ts'
import { ResourceNotFound as LibraryNotFound } from '../../../src/index.ts'
import { Bench } from './bench.ts'
import { type Message, type Peer, welcome, within } from './scripted-server.ts'

const read = (id: string, uri: string, deadline_ms = 5000) => ({
  type: 'read',
  id,
  uri,
  deadline_ms,
})
const answerTo = async (peer: Peer, id: string) => {
  const found = () => peer.messages.find(message => message.id === id && message.type !== 'read')
  await peer.until(() => found() !== undefined, `the answer to ${id}`)
  return found() as Message
}

describe('HostClient, asked for resources', () => {
  let bench: Bench
  beforeEach(() => {
    bench = new Bench()
  })
  afterEach(() => bench.end())

  const objects = (more: Partial<HostProducer> = {}): HostProducer => ({
    scheme: 'blender-object',
    list: () => [{ uri: 'blender-object://Cube', name: 'Cube' }],
    read: uri => [{ uri, mimeType: 'application/json', text: '{}' }],
    ...more,
  })

  it('offers a producer, follows its list, and takes it back', async () => {
    const { host, peer } = await bench.linked()
    const listed = [{ uri: 'blender-object://Cube', name: 'Cube' }]
    const templates = [{ uriTemplate: 'blender-object://{name}', name: 'One' }]
    const list = () => listed
    const handle = host.addProducer(objects({ list, templates: () => templates }))
    expect(await peer.next('producer.register')).to.deep.include({
      scheme: 'blender-object',
      resources: [{ uri: 'blender-object://Cube', name: 'Cube' }],
      templates,
    })
    listed.push({ uri: 'blender-object://Lamp', name: 'Lamp' })
    for (let time = 0; time < 100; time++) handle.listChanged()
    const changed = await peer.next('producer.list_changed')
    expect(changed.resources).to.deep.equal(listed)
    handle.updated('blender-object://Cube')
    handle.updated('blender-object://Cube')
    expect((await peer.next('resource.updated')).uri).to.equal('blender-object://Cube')
    handle.remove()
    handle.updated('blender-object://Cube')
    expect((await peer.next('producer.unregister')).scheme).to.equal('blender-object')
    expect(peer.of('producer.list_changed')).to.have.length(1)
    expect(peer.of('resource.updated')).to.have.length(1)
    host.addProducer(objects())
    await peer.next('producer.register', 2)
  })

  it('keeps the newest updates of a producer while the server does not read', async () => {
    const { host, peer } = await bench.linked(
      {},
      { limits: { maxPendingUpdates: 2, highWaterBytes: 1 } },
    )
    const handle = host.addProducer(objects())
    await peer.next('producer.register')
    for (const name of ['a', 'b', 'c', 'd']) handle.updated(`blender-object://${name}`)
    await peer.next('resource.updated', 2)
    host.addProducer(objects({ scheme: 'later' }))
    await peer.next('producer.register', 2)
    const uris = peer.of('resource.updated').map(({ uri }) => uri)
    expect(uris).to.deep.equal(['blender-object://c', 'blender-object://d'])
  })

  const wrongContents: [what: string, contents: unknown][] = [
    ['no list of contents', { uri: 'blender-object://Cube', text: '' }],
    ['a text that is a number', [{ uri: 'blender-object://Cube', text: 7 }]],
    ['neither text nor blob', [{ uri: 'blender-object://Cube' }]],
    ['no uri', [{ text: '' }]],
  ]
  for (const [what, contents] of wrongContents) {
    it(`answers a read as failed that returns ${what}`, async () => {
      const { host, peer } = await bench.linked()
      host.addProducer(objects({ read: () => contents as any }))
      await peer.next('producer.register')
      peer.send(read('s1', 'blender-object://Cube'))
      expect(await answerTo(peer, 's1')).to.include({ type: 'error', code: 'internal' })
    })
  }

  it('answers a read or list of an unknown scheme with not_found', async () => {
    const { peer } = await bench.linked()
    peer.send(read('s1', 'other://Cube'))
    peer.send({ type: 'list', id: 's2', scheme: 'other', deadline_ms: 2000 })
    for (const id of ['s1', 's2']) {
      expect(await answerTo(peer, id)).to.include({ type: 'error', code: 'not_found' })
    }
  })

  it('registers without a list one whose list fails or hangs, and goes on with the others', async () => {
    const { host, peer } = await bench.linked({}, { limits: { listTimeoutMs: 30 } })
    host.addProducer(objects({ scheme: 'broken', list: () => Promise.reject(new Error('no')) }))
    host.addProducer(objects({ scheme: 'slow', list: () => new Promise(() => {}) }))
    host.addProducer(objects())
    await peer.next('producer.register', 3)
    const told = peer.of('producer.register').map(({ scheme, resources }) => [scheme, resources])
    expect(told).to.deep.equal([
      ['broken', undefined],
      ['slow', undefined],
      ['blender-object', objects().list()],
    ])
  })

  it('says in its status when the server does not take a scheme', async () => {
    const { host, peer } = await bench.linked({ answer: () => null })
    host.addProducer(objects({ scheme: 'scene' }))
    const { id } = await peer.next('producer.register')
    const taken = { code: 'scheme_reserved', message: 'scene is the server’s', retryable: false }
    peer.send({ type: 'error', id, ...taken })
    peer.send({ type: 'newer.question', id: 'q' })
    await peer.next('error')
    expect(host.status.lastError).to.match(/producer of scene was refused.*scheme_reserved/)
    expect(() => host.addProducer(objects({ scheme: 'scene' }))).to.throw(TypeError, 'already')
    expect(() => host.addProducer(objects({ scheme: 'Blender' }))).to.throw(TypeError)
  })

  it('answers a read and a list', async () => {
    const { host, peer } = await bench.linked()
    const bytes = new Uint8Array([104, 105])
    host.addProducer(
      objects({
        read: async uri => [
          { uri, text: 'a' },
          { uri, blob: bytes },
        ],
      }),
    )
    peer.send(read('s1', 'blender-object://Cube?detail=full'))
    peer.send({ type: 'list', id: 's2', scheme: 'blender-object', deadline_ms: 2000 })
    const uri = 'blender-object://Cube?detail=full'
    expect(await answerTo(peer, 's1')).to.deep.equal({
      type: 'ok',
      id: 's1',
      contents: [
        { uri, text: 'a' },
        { uri, blob: 'aGk=' },
      ],
    })
    expect((await answerTo(peer, 's2')).resources).to.deep.equal(objects().list())
  })

  const failures: [name: string, producer: Partial<HostProducer>, expected: object][] = [
    [
      'what does not exist',
      {
        read: uri => {
          throw new ResourceNotFound(uri)
        },
      },
      { code: 'not_found', retryable: false },
    ],
    [
      'what does not exist, in the words of the library',
      { read: uri => Promise.reject(new LibraryNotFound(uri)) },
      { code: 'not_found', retryable: false },
    ],
    [
      'a busy application',
      { read: () => Promise.reject(new HostBusy('a dialog is open')) },
      { code: 'busy', message: 'a dialog is open', retryable: true },
    ],
    [
      'an accident, of which nothing is told',
      { read: () => Promise.reject(new Error('/home/ada/secret')) },
      { code: 'internal', message: 'the application failed to answer' },
    ],
    ['contents of the wrong form', { read: () => [{ uri: 'a' }] }, { code: 'internal' }],
    [
      'an answer larger than a message',
      { read: uri => [{ uri, text: 'x'.repeat(3000) }] },
      { code: 'limit', message: 'the answer exceeds the message limit of 2048 bytes' },
    ],
    ['a scheme that nobody offers', { scheme: 'other' }, { code: 'not_found' }],
  ]
  for (const [name, producer, expected] of failures) {
    it(`answers with an error for ${name}`, async () => {
      const limits = { ...welcome.limits, max_message_bytes: 2048 }
      const { host, peer } = await bench.linked({ welcome: { ...welcome, limits } })
      host.addProducer(objects(producer))
      peer.send(read('s1', 'blender-object://Cube'))
      expect(await answerTo(peer, 's1')).to.include({ type: 'error', ...expected })
    })
  }

  it('gives up a read that is cancelled, whose deadline passed, or whose link was lost', async () => {
    const { server, host, peer } = await bench.linked()
    const given: Record<string, AbortSignal> = {}
    host.addProducer(
      objects({
        read: (uri, signal) => {
          given[uri] = signal
          return new Promise(resolve =>
            signal.addEventListener('abort', () => resolve([{ uri, text: 'too late' }])),
          )
        },
      }),
    )
    const uri = (name: string) => `blender-object://${name}`
    const fired = (name: string) => given[uri(name)]?.aborted
    peer.send(read('s1', uri('cancelled')))
    peer.send(read('s2', uri('late'), 30))
    peer.send(read('s3', uri('lost')))
    peer.send({ type: 'cancel', id: 's1' })
    peer.send({ type: 'cancel', id: 'never asked' })
    peer.send({ type: 'newer.question', id: 'q' })
    await peer.next('error')
    expect([fired('cancelled'), fired('lost')]).to.deep.equal([true, false])
    const late = given[uri('late')] as AbortSignal
    const over = new Promise<void>(resolve => late.addEventListener('abort', () => resolve()))
    if (!late.aborted) await within(over, 'the deadline')
    peer.socket.terminate()
    await server.peer(2)
    expect(fired('lost')).to.equal(true)
    const answered = peer.messages.filter(({ id }) => /^s\d/.test(String(id)))
    expect(answered).to.deep.equal([])
  })

  it('bounds the reads that run although nobody waits for them any more', async () => {
    const { host, peer } = await bench.linked()
    let running = 0
    const never = new Promise<never>(() => {})
    host.addProducer(
      objects({
        read: () => {
          running++
          return never
        },
      }),
    )
    for (let id = 1; id <= 40; id++) {
      peer.send(read(`s${id}`, 'blender-object://Cube'))
      peer.send({ type: 'cancel', id: `s${id}` })
    }
    peer.send(read('last', 'blender-object://Cube'))
    expect(await answerTo(peer, 'last')).to.include({ type: 'error', code: 'busy' })
    expect(running).to.equal(32)
  })
})
