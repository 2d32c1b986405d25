import { expect } from 'chai'
import {
  bearer,
  type KeyedServer,
  makeKeys,
  startKeyedServer,
  type TestKeys,
} from '../../helpers/keyed-server.ts'
import { type Answer, ask, Events, initializeBody, RawSession, rpc } from '../../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'

const scene = 'scene://current'
const note = (method: string, params?: object) =>
  JSON.stringify({ jsonrpc: '2.0', method, ...(params && { params }) })

describe('the session of somebody else', () => {
  let keys: TestKeys
  const keyOf = new Map<string, Record<string, string>>()
  let running: KeyedServer
  let alice: RawSession
  let stream: Events

  before(async () => {
    keys = await makeKeys()
    for (const name of ['alice', 'bob']) keyOf.set(name, bearer(await keys.create(name)))
    running = await startKeyedServer(keys)
  })
  after(async () => {
    await running.stop()
    await keys.remove()
  })
  beforeEach(async () => {
    running.setScene({ of: 'alice' })
    alice = await RawSession.open(running.url, '2025-11-25', keyOf.get('alice'))
    stream = await alice.listen()
    await alice.call('resources/subscribe', { uri: scene })
  })
  afterEach(async () => {
    stream.close()
    await alice.delete()
  })

  /** Whatever happened: it lives, on the same stream, with its one subscription. */
  async function expectUntouched(): Promise<void> {
    const before = stream.messages.length
    running.setScene({ of: 'alice', again: true })
    await stream.until(() => stream.messages.length > before, 'the update')
    expect(stream.updates.at(-1)).to.equal(scene)
    expect(stream.ended).to.equal(false)
    expect((await alice.readJson(scene)).of).to.equal('alice')
  }

  const bodies: [string, string][] = [
    ['ping', rpc('ping')],
    ['initialize', initializeBody()],
    ['a list', rpc('resources/list')],
    ['a list of templates', rpc('resources/templates/list')],
    ['a read', rpc('resources/read', { uri: scene })],
    ['a read of nothing', rpc('resources/read', { uri: 'scene://none' })],
    ['a subscription', rpc('resources/subscribe', { uri: scene })],
    ['the end of a subscription', rpc('resources/unsubscribe', { uri: scene })],
    [
      'a completion',
      rpc('completion/complete', {
        ref: { type: 'ref/resource', uri: 'audit://recent{?limit}' },
        argument: { name: 'limit', value: '' },
      }),
    ],
    ['a method nobody knows', rpc('no/method')],
    ['a notification', note('notifications/initialized')],
    ['a cancellation', note('notifications/cancelled', { requestId: 1 })],
    ['an answer', JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} })],
    ['a batch', `[${rpc('ping')}]`],
  ]

  function useWith(
    name: string,
    { id = alice.id, method = 'POST', body = '' }: { id?: string; method?: string; body?: string },
  ): Promise<Answer> {
    const accept: Record<string, string> = method === 'GET' ? { Accept: 'text/event-stream' } : {}
    return ask(running.url, {
      method,
      headers: {
        ...alice.headers,
        Authorization: '',
        ...accept,
        ...keyOf.get(name),
        'Mcp-Session-Id': id,
      },
      ...(method === 'POST' && { body }),
    })
  }

  const uses: [string, { method?: string; body?: string }][] = [
    ...bodies.map(([title, body]): [string, { body: string }] => [title, { body }]),
    ['a stream', { method: 'GET' }],
    ['its end', { method: 'DELETE' }],
  ]

  for (const [title, use] of uses) {
    it(`is nowhere to be found for ${title} with another key`, async () => {
      const stolen = await useWith('bob', use)
      const never = await useWith('bob', { ...use, id: 'A'.repeat(alice.id.length) })
      expect(stolen.status).to.equal(404)
      expect(plain(stolen)).to.deep.equal(plain(never))
      await expectUntouched()
    })
  }

  it('is refused without a key as if there were none, and lives on', async () => {
    for (const [, use] of uses) expect((await useWith('nobody', use)).status).to.equal(401)
    await expectUntouched()
  })

  it('is not found by an id that is nearly its own', async () => {
    const { id } = alice
    const swapped = id.replace(/[a-z]/i, letter =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
    )
    const guesses = [
      id.slice(1),
      id.slice(0, -1),
      `${id}A`,
      `A${id}`,
      `${id}, ${id}`,
      `${id};`,
      `"${id}"`,
      swapped,
      id.replace(/.$/, last => (last === 'A' ? 'B' : 'A')),
      encodeURIComponent(`${id} `),
      `${id}=`,
      '__proto__',
      'constructor',
      '0',
      'x'.repeat(10_000),
    ]
    for (const guess of guesses.filter(each => each !== id)) {
      for (const [title, use] of uses) {
        const answer = await useWith('alice', { ...use, id: guess })
        expect(answer.status, `${title}, ${guess}`).to.equal(404)
      }
    }
    await expectUntouched()
  })

  it('has an id that says nothing of the next one', async () => {
    const ids = []
    for (let count = 0; count < 20; count++) {
      const { id } = await RawSession.open(running.url, '2025-11-25', keyOf.get('bob'))
      expect(id).to.match(/^[\x21-\x7e]{22,}$/)
      ids.push(id)
    }
    // No place of it is the same in all, as with a counter, a time or a name.
    const length = Math.min(...ids.map(id => id.length))
    for (let at = 0; at < length; at++) {
      expect(new Set(ids.map(id => id[at])).size, `character ${at}`).to.be.above(1)
    }
  })

  it('is gone when it was ended, for whoever replays its id', async () => {
    const other = await RawSession.open(running.url, '2025-11-25', keyOf.get('alice'))
    expect((await other.delete()).status).to.equal(204)
    for (const name of ['alice', 'bob']) {
      for (const [title, use] of uses) {
        expect((await useWith(name, { ...use, id: other.id })).status, title).to.equal(404)
      }
    }
    await expectUntouched()
  })

  it('keeps the second stream from others only: its owner moves over to it', async () => {
    expect((await useWith('bob', { method: 'GET' })).status).to.equal(404)
    const second = await alice.listen()
    await stream.untilEnded()
    running.setScene({ of: 'alice', moved: true })
    await second.until(() => second.updates.length > 0, 'the update')
    expect(stream.updates).to.deep.equal([])
    second.close()
  })

  describe('in the stateless transport', () => {
    const method = 'subscriptions/listen'

    async function listen(name: string, id: unknown, uris: string[]): Promise<Events> {
      const params = { notifications: { resourceSubscriptions: uris } }
      const body = JSON.stringify(statelessRequest(method, params, id))
      const headers = { ...statelessHeaders(method, params), ...keyOf.get(name) }
      const events = await Events.open(running.url, headers, body)
      await events.until(() => events.messages.length > 0, 'the acknowledgement')
      return events
    }

    it('plays no part: its id is not looked at', async () => {
      const params = { uri: scene }
      const headers = { ...statelessHeaders('resources/read', params), ...keyOf.get('bob') }
      const body = JSON.stringify(statelessRequest('resources/read', params))
      for (const id of [alice.id, 'A'.repeat(alice.id.length)]) {
        const named = { ...headers, 'Mcp-Session-Id': id }
        const answer = await ask(running.url, { method: 'POST', headers: named, body })
        expect(answer.status).to.equal(200)
        expect(answer.headers).not.to.have.property('mcp-session-id')
      }
      await expectUntouched()
    })

    it('has streams that nobody else ends or joins by their id', async () => {
      const [first, second] = [await listen('alice', 7, [scene]), await listen('bob', 7, [])]
      const cancel = {
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: 7, _meta: statelessRequest('x').params._meta },
      }
      for (const name of ['bob', 'alice']) {
        const answer = await ask(running.url, {
          method: 'POST',
          headers: { ...statelessHeaders(cancel.method), ...keyOf.get(name) },
          body: JSON.stringify(cancel),
        })
        expect(answer.status).to.equal(202)
      }
      running.setScene({ of: 'alice', still: true })
      await first.until(() => first.updates.length > 0, 'the update')
      expect([first.ended, second.ended]).to.deep.equal([false, false])
      expect(second.updates).to.deep.equal([])
      first.close()
      second.close()
      await expectUntouched()
    })
  })
})

/** The answer without what is of the moment. */
function plain({ status, headers, text }: Answer): object {
  const { date: _, ...told } = headers
  return { status, told, text }
}
