import { expect } from 'chai'
import { ServiceError } from '../../../../src/lib/util/errors.ts'
import type { Notes } from '../../../../src/server/notes/notes.ts'
import type { LinkClient } from '../../../helpers/link.ts'
import { until } from '../../../helpers/until.ts'
import { LinkServer, type Message } from '../harness.ts'

const scene = (value: unknown, id?: string): Message => ({ type: 'scene.set', id, scene: value })
const audit: Message = { type: 'audit.record', records: [{ action: 'file.save' }] }

describe('a message of an application', () => {
  let server: LinkServer
  let peer: LinkClient
  before(async () => {
    server = await LinkServer.start()
    peer = await server.join()
    const templates = [{ uriTemplate: 'app://{name}', name: 'One' }]
    await peer.ask({ type: 'producer.register', scheme: 'app', templates })
  })

  const record = (members: Message) => ({ type: 'audit.record', records: [members] })
  const event = (members: Message) => ({
    type: 'events.append',
    session_id: 's',
    events: [{ source: 'a', stream: 'b', message: 'c', ...members }],
  })
  const resources = (item: unknown) => ({
    type: 'producer.register',
    scheme: 'app',
    resources: [item],
  })
  const wrong: [message: Message, said: string][] = [
    [{ type: 'scene.set' }, '/scene is required'],
    [{ type: 'scene.set', scene: 5 }, '/scene must be a JSON object, or null to clear it'],
    [{ type: 'scene.patch', base: 1 }, 'has none of objects, removed, members and unset'],
    [{ type: 'scene.patch', base: -1, unset: ['a'] }, '/base must be a whole number from 0'],
    [{ type: 'heartbeat' }, '/main_idle_ms is required'],
    [{ type: 'heartbeat', main_idle_ms: -1 }, '/main_idle_ms must be a number of milliseconds'],
    [{ type: 'app.update', mode: 'tty' }, '/mode must be gui or background'],
    [{ type: 'app.update', document: 'a.blend' }, '/document must be an object'],
    [
      { type: 'app.update', document: { path: 'x'.repeat(4097) } },
      '/document/path must have at most 4096 characters',
    ],
    [{ type: 'app.update', capture: { targets: [1] } }, '/capture/targets/0 must be a string'],
    [record({}), '/records/0/action is required'],
    [record({ action: '' }), '/records/0/action must not be empty'],
    [record({ action: 'a\nb' }), '/records/0/action must not have control characters'],
    [record({ action: 'x'.repeat(256) }), '/records/0/action must have at most 255 characters'],
    [record({ action: 'a', timestamp: '2026-02-30' }), '/records/0/timestamp must be a time'],
    [record({ action: 'a', outcome: 'lost' }), '/records/0/outcome must be "success", "timeout"'],
    [record({ action: 'a', outcome: { denied: {} } }), '/records/0/outcome must be "success"'],
    [record({ action: 'a', duration_ms: '1' }), '/records/0/duration_ms must be a number'],
    [{ type: 'audit.record', records: 1 }, '/records must be an array'],
    [{ type: 'audit.record', records: Array(101).fill({}) }, '/records must have at most 100'],
    [event({ level: 'loud' }), '/events/0/level must be trace or debug'],
    [event({ message: 5 }), '/events/0/message must be a string'],
    [{ type: 'events.open', session_id: '..' }, '/session_id must be 1 to 128 of the characters'],
    [
      { type: 'events.open', session_id: 's', maxlen: 0.5 },
      '/maxlen must be a whole number from 1 to 10000',
    ],
    [resources({ uri: 'other://a', name: 'A' }), '/resources/0/uri must begin with app:'],
    [resources({ uri: 'app://a' }), '/resources/0/name is required'],
    [{ type: 'producer.register', scheme: 'app', resources: {} }, '/resources must be an array'],
    [
      { type: 'producer.register', scheme: 'app', templates: [{ uriTemplate: 'a', name: '' }] },
      '/templates/0/uriTemplate must begin with app:',
    ],
    [{ type: 'producer.register', scheme: 'Not Lower' }, '/scheme must be a lower-case letter'],
    [{ type: 'resource.updated', uri: 'no uri' }, '/uri '],
    [{ type: 'artefact.put', mime: 'a/b', size: -1 }, '/size must be a whole number from 0'],
    [{ type: 'checkpoint.add', name: '12' }, '/name must have a letter'],
    [{ type: 'checkpoint.add', name: 'note-3fa1b2c4' }, '/name is a name for the checkpoint of a'],
    [{ type: 'note.add', note: { text: '' } }, '/note/text must not be empty'],
    [{ type: 'note.act', note: '../x', action: 'accept' }, '/note must name a note'],
    [{ type: 'note.act', note: 'a', action: 'eat' }, 'the action must be one of'],
    [{ type: 'bye', clear: 1 }, '/clear must be true or false'],
  ]
  it('is refused with the member that is wrong, and what it must be', async () => {
    for (const [message, said] of wrong) {
      const answer = await peer.ask(message)
      expect(answer, said).to.include({ type: 'error', code: 'invalid' })
      expect(answer.message).to.contain(said)
    }
    expect(server.journal).to.deep.equal([])
    const failed = await peer.ask({ type: 'scene.set', scene: { explode: 1 } })
    const message = 'the server failed; its log has the reason'
    expect(failed).to.deep.equal({ type: 'error', code: 'internal', message })
  })

  it('is refused for what the server has already, or not', async () => {
    const register = (scheme: string) => ({ type: 'producer.register', scheme })
    server.registry.addProducer({ scheme: 'own', list: () => [], read: () => [] })
    const refusals: [message: Message, code: string][] = [
      [{ type: 'new' }, 'unknown_type'],
      [register('scene'), 'scheme_taken'],
      [register('own'), 'scheme_taken'],
      [{ type: 'resource.updated', uri: 'gone://a' }, 'not_found'],
      [{ ...resources(0), resources: Array(2001).fill(0) }, 'invalid'],
      [{ type: 'note.add', note: { text: 'Too bright' } }, 'unsupported'],
      [{ type: 'checkpoint.add', name: 'first' }, 'not_found'],
    ]
    for (const [message, code] of refusals) {
      expect(await peer.ask(message), JSON.stringify(message)).to.include({ type: 'error', code })
    }
  })

  it('may have members that are null or unknown', async () => {
    const unsaid = { actor: null, params: null, outcome: null, timestamp: null, newer: [1] }
    const answer = await peer.ask({ ...record({ action: 'save', ...unsaid }), newer: 1 })
    expect(answer).to.deep.equal({ type: 'ok', count: 1 })
    expect(server.records.at(-1)).to.deep.include({ action: 'save', actor: undefined })
    expect(await peer.ask(event({ job_id: null, level: null }))).to.include({ type: 'ok' })
    expect(await peer.ask(resources({ uri: 'app://a', name: 'A', title: null }))).to.include({
      type: 'ok',
    })
  })

  it('may hold numbers that JSON lacks: they are null', async () => {
    peer.say(
      '{"type":"app.update","id":"1","document":{"name":"a","fps":NaN},"x":[-Infinity,1e999]}',
    )
    peer.say('{"type":"scene.set","id":"2","scene":{"objects":[],"lens":NaN,"text":"NaN","x":1.0}}')
    peer.say('{"type":"scene.patch","id":"3","members":{"energy":[Infinity,-1e999]}}')
    for (const id of ['1', '2', '3']) expect(await peer.next()).to.include({ type: 'ok', id })
    const warning = '"warnings":[{"code":"number_not_finite","count":2}]'
    expect(server.scene.text).to.equal(
      `{"objects":[],"lens":null,"text":"NaN","x":1.0,${warning},"energy":[null,null]}`,
    )
  })

  it('may be of a scene with warnings of its own, which stay its only member of that name', async () => {
    const own = '{"code":"too_dark"},{"code":"number_not_finite","count":7}'
    peer.say(`{"type":"scene.set","id":"1","scene":{"warnings":[${own}],"lens":NaN,"x":1.0}}`)
    expect(await peer.next()).to.include({ type: 'ok' })
    expect(server.scene.text).to.equal(
      '{"warnings":[{"code":"too_dark"},{"code":"number_not_finite","count":1}],"lens":null,"x":1.0}',
    )
  })
})

describe('what an application tells', () => {
  let server: LinkServer
  let peer: LinkClient
  let journal: string[]
  beforeEach(async () => {
    server = await LinkServer.start()
    peer = await server.join()
    journal = server.journal
  })

  /** All at once, so that they arrive in one piece. */
  function sendTogether(...messages: Message[]): void {
    const { _socket: socket } = peer.ws as unknown as { _socket: { cork(): void; uncork(): void } }
    socket.cork()
    for (const message of messages) peer.say(message)
    socket.uncork()
  }

  it('is refused as an artefact when the disk is full', async () => {
    const full = new ServiceError('storage_full', 'no space left on /mnt/a')
    server.memory.put = () => Promise.reject(full)
    const put = { type: 'artefact.put', mime: 'text/plain', size: 1 }
    const answer = await peer.ask(put)
    expect(answer).to.include({ type: 'error', code: 'limit' })
    expect(answer.message).not.to.contain('/mnt')
  })

  it('is not answered without an id, except by an error', async () => {
    const wrong = { type: 'audit.record', records: 1 }
    sendTogether(audit, wrong, { type: 'new' }, { type: 'ok', id: 's9' })
    await peer.settled()
    const [, error, settled] = peer.messages
    expect(error).to.include({ type: 'error', code: 'invalid' }).and.not.to.have.property('id')
    expect(settled).to.have.property('type', 'ok')
  })

  it('is taken in the order of its arrival, a scene before the record behind it', async () => {
    sendTogether(scene({ a: 1 }), audit, scene({ a: 2 }), audit)
    await peer.settled()
    expect(journal).to.deep.equal([
      'scene {"a":1}',
      'audit file.save',
      'scene {"a":2}',
      'audit file.save',
    ])
  })

  it('is taken as a scene also when the link breaks behind it', async () => {
    sendTogether(scene({ a: 1 }))
    peer.ws.close()
    await until(() => journal.length === 1)
  })

  it('closes the link for an invalid message, and ignores an unannounced frame', async () => {
    peer.say('{"type":5}')
    expect(await peer.closed).to.deep.equal({ code: 4400, reason: 'a message has no type' })
    await until(() => server.presence?.connected === false)
    const next = await server.join()
    next.say(Buffer.from('x'))
    await next.settled()
  })

  it('is an artefact, with other messages between its bytes', async () => {
    peer.say({ type: 'artefact.put', id: 'a', mime: 'text/plain', size: 4, display_name: 'x' })
    peer.say(Buffer.from('ab'))
    expect(await peer.ask(audit)).to.deep.equal({ type: 'ok', count: 1 })
    peer.say(Buffer.from('cd'))
    const { uri, ...rest } = await peer.next()
    expect(uri).to.match(/^artefact:\/\/sha256\/88d4266f/)
    expect(rest).to.include({ type: 'ok', id: 'a', existed: false })
    const [stored] = server.memory.stored.values()
    expect(stored?.bytes.toString()).to.equal('abcd')
    expect(stored?.fields).to.include({ mime: 'text/plain', display_name: 'x' })
  })

  it('is refused as a wrong artefact, and bytes that were not announced are dropped', async () => {
    for (const wrong of [{ id: 5 }, { id: undefined }, { mime: 5 }, { size: 'x' }]) {
      peer.say({ type: 'artefact.put', id: 'a', mime: 'text/plain', size: 4, ...wrong })
      peer.say(Buffer.from('abcd'))
      expect(await peer.next()).to.include({ type: 'error', code: 'invalid' })
    }
    await peer.settled()
    expect(server.memory.stored.size).to.equal(0)
  })
})

describe('the notes that an application shows', () => {
  let server: LinkServer

  it('are those of the open document, also when those of the one before come later', async () => {
    const reads: ((text: string) => void)[] = []
    let changed = () => {}
    const notes = {
      shown: () =>
        new Promise(resolve => {
          reads.push(text => resolve({ notes: [{ text }], pictures: '' }))
        }),
      watch: (told: () => void) => {
        changed = told
        return () => {}
      },
    } as unknown as Notes
    server = await LinkServer.start({ notes })
    const peer = await server.join('run-1', { notes: true })
    changed()
    for (const text of ['of the one before', 'of the open document']) {
      await until(() => reads.length > 0)
      reads.shift()?.(text)
    }
    await peer.settled()
    const shown = peer.messages.filter(({ type }) => type === 'notes')
    expect(shown.map(({ notes }) => notes)).to.deep.equal([
      [{ text: 'of the one before' }],
      [{ text: 'of the open document' }],
    ])
  })
})

describe('scene.patch', () => {
  const shown = { frame: 1, objects: [{ id: 'Cube', x: 0 }, { id: 'Lamp' }] }

  let server: LinkServer
  let peer: LinkClient
  beforeEach(async () => {
    server = await LinkServer.start()
    peer = await server.join()
  })

  const current = () => JSON.parse(server.scene.text ?? 'null')
  const set = (value: unknown): Promise<Message> => peer.ask({ type: 'scene.set', scene: value })
  const patch = (members: object): Promise<Message> => peer.ask({ type: 'scene.patch', ...members })

  it('changes objects and members of the scene that it builds on', async () => {
    const { revision } = await set(shown)
    const first = await patch({
      base: revision,
      objects: [{ id: 'Cube', x: 1 }, { id: 'Rig' }],
      removed: ['Lamp'],
      members: { selection: null },
      unset: ['frame'],
    })
    expect(first).to.deep.equal({ type: 'ok', revision: 2 })
    const cube = { id: 'Cube', x: 1 }
    expect(current()).to.deep.equal({ objects: [cube, { id: 'Rig' }], selection: null })
    await patch({ base: 2, removed: ['Rig', 'unknown'] })
    expect(current().objects).to.deep.equal([cube])
  })

  it('takes a scene that came before it first, and one after it last', async () => {
    peer.say({ type: 'scene.set', scene: shown })
    peer.say({ type: 'scene.patch', id: 'p', base: 1, members: { frame: 2 } })
    expect(await set({ last: true })).to.deep.equal({ type: 'ok', revision: 3 })
    expect(peer.messages).to.deep.include({ type: 'ok', id: 'p', revision: 2 })
    expect(current()).to.deep.equal({ last: true })
  })

  it('is stale on another revision, without a scene, and on the scene of another source', async () => {
    const stale = { type: 'error', code: 'stale' }
    expect(await patch({ base: 0, unset: ['a'] })).to.include(stale)
    await set(shown)
    await set(shown)
    expect(await patch({ base: 1, unset: ['frame'] })).to.include(stale)
    await set(null)
    expect(await patch({ base: 3, unset: ['frame'] })).to.include(stale)
    server.scene.setText(JSON.stringify(shown))
    expect(await patch({ base: 4, unset: ['frame'] })).to.include(stale)
    expect(current()).to.deep.equal(shown)
  })
})
