import { expect } from 'chai'
import { ServiceError } from '../../../../src/lib/util/errors.ts'
import type { Notes } from '../../../../src/server/notes/notes.ts'
import { until } from '../../../helpers/until.ts'
import type { LinkClient } from '../../../helpers/link.ts'
import { LinkServer, type Message } from '../harness.ts'

const scene = (value: unknown, id?: string): Message => ({ type: 'scene.set', id, scene: value })
const audit: Message = { type: 'audit.record', records: [{ action: 'file.save' }] }

describe('what an application tells', () => {
  let server: LinkServer
  let peer: LinkClient
  let journal: string[]
  beforeEach(async () => {
    server = await LinkServer.start()
    peer = await server.join()
    journal = server.journal
  })
  afterEach(() => server.stop())

  /** All at once, so that they arrive in one piece. */
  function sendTogether(...messages: Message[]): void {
    const { _socket: socket } = peer.ws as unknown as { _socket: { cork(): void; uncork(): void } }
    socket.cork()
    for (const message of messages) peer.say(message)
    socket.uncork()
  }

  const refusals: [message: Message, code: string, said: string][] = [
    [scene(5), 'invalid', '/scene must be a JSON object, or null to clear it'],
    [scene({ explode: 1 }), 'internal', 'the server failed; its log has the reason'],
    [{ type: 'new' }, 'unknown_type', 'there is no message "new"'],
  ]
  it('is refused when it is wrong, and changes nothing', async () => {
    for (const [message, code, said] of refusals) {
      const answer = await peer.ask(message)
      expect(answer, said).to.include({ type: 'error', code })
      expect(answer.message).to.contain(said)
    }
    expect(journal).to.deep.equal([])
  })

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
  afterEach(() => server.stop())

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
