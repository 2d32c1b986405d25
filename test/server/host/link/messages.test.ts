import { expect } from 'chai'
import type { LinkClient } from '../../../helpers/link.ts'
import { LinkServer, type Message } from '../harness.ts'

describe('a message of an application', () => {
  let server: LinkServer
  let peer: LinkClient
  before(async () => {
    server = await LinkServer.start()
    peer = await server.join()
    const templates = [{ uriTemplate: 'app://{name}', name: 'One' }]
    await peer.ask({ type: 'producer.register', scheme: 'app', templates })
  })
  after(() => server.stop())

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
  })

  it('is refused for what the server has already, or not', async () => {
    const register = (scheme: string) => ({ type: 'producer.register', scheme })
    server.registry.addProducer({ scheme: 'own', list: () => [], read: () => [] })
    const refusals: [message: Message, code: string][] = [
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
    expect(server.scene.current.text).to.equal(
      `{"objects":[],"lens":null,"text":"NaN","x":1.0,${warning},"energy":[null,null]}`,
    )
  })

  it('may be of a scene with warnings of its own, which stay its only member of that name', async () => {
    const own = '{"code":"too_dark"},{"code":"number_not_finite","count":7}'
    peer.say(`{"type":"scene.set","id":"1","scene":{"warnings":[${own}],"lens":NaN,"x":1.0}}`)
    expect(await peer.next()).to.include({ type: 'ok' })
    expect(server.scene.current.text).to.equal(
      '{"warnings":[{"code":"too_dark"},{"code":"number_not_finite","count":1}],"lens":null,"x":1.0}',
    )
  })
})
