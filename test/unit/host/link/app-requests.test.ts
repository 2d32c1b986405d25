import { expect } from 'chai'
import type { ServerMessage } from '../../../../src/lib/host-link/wire.ts'
import { AppRequests } from '../../../../src/server/host/link/app-requests.ts'
import { ManualTime } from '../../resources/manual-time.ts'
import { type Bounds, boundsWith } from '../../../helpers/bounds.ts'

type Sent = ServerMessage & { id?: string }

function connection(limits: Partial<Bounds> = {}) {
  const time = new ManualTime()
  const sent: Sent[] = []
  const logged: object[] = []
  const note = (fields: object) => void logged.push(fields)
  const link = { up: true, late: 'host_timeout' as 'host_timeout' | 'host_busy' }
  const requests = new AppRequests({
    send(message) {
      if (link.up) sent.push(message)
      return link.up
    },
    lateReason: () => link.late,
    timer: time,
    limits: boundsWith(limits),
    log: { debug: note, info: note, warn: note, error: note },
  })
  return { requests, time, sent, logged, link }
}

const contents = (id: string, uri: string) =>
  ({ type: 'ok', id, contents: [{ uri, text: 'x' }] }) as const

/** What a question came to: its value, or the reason of its error. */
async function outcomeOf(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked
  } catch (error) {
    const { code, data } = error as { code: string; data?: { reason?: string } }
    return data?.reason ?? code
  }
}

describe('AppRequests', () => {
  it('asks with an id of its own, the URI as it was written, and the deadline', async () => {
    const { requests, sent, time } = connection()
    const one = requests.read('app://a?x=%20')
    const two = requests.read('app://b')
    const list = requests.list('app')
    expect(sent).to.deep.equal([
      { type: 'read', id: 's1', uri: 'app://a?x=%20', deadline_ms: 5000 },
      { type: 'read', id: 's2', uri: 'app://b', deadline_ms: 5000 },
      { type: 'list', id: 's3', scheme: 'app', deadline_ms: 2000 },
    ])
    // In any order.
    expect(requests.settle({ type: 'ok', id: 's3', resources: ['as it came'] })).to.equal(true)
    expect(requests.settle(contents('s2', 'app://b'))).to.equal(true)
    expect(requests.settle(contents('s1', 'app://a?x=%20'))).to.equal(true)
    expect(await one).to.deep.equal([{ uri: 'app://a?x=%20', text: 'x' }])
    expect(await two).to.deep.equal([{ uri: 'app://b', text: 'x' }])
    expect(await list).to.deep.equal({ ok: true, value: ['as it came'] })
    expect(time.waiting).to.equal(0)
    expect(requests.open).to.equal(0)
  })

  it('gives all who read one URI the same answer, and asks anew after it', async () => {
    const { requests, sent } = connection()
    const readers = [requests.read('app://a'), requests.read('app://a'), requests.read('app://a?')]
    expect(sent).to.have.length(2)
    requests.settle(contents('s1', 'app://a'))
    requests.settle({ type: 'error', id: 's2', code: 'not_found', message: '' })
    const [first, second, other] = await Promise.all(readers.map(outcomeOf))
    expect(second).to.equal(first)
    expect(other).to.equal('resource_not_found')
    void requests.read('app://a')
    expect(sent).to.have.length(3)
  })

  for (const reason of ['host_busy', 'host_timeout'] as const) {
    it(`is ${reason} past the deadline, and takes the question back`, async () => {
      const { requests, sent, time, link } = connection()
      const asked = requests.read('app://a')
      time.advance(4999)
      expect(requests.open).to.equal(1)
      link.late = reason
      time.advance(1)
      expect(await outcomeOf(asked)).to.equal(reason)
      expect(sent.at(-1)).to.deep.equal({ type: 'cancel', id: 's1' })
      expect(requests.open).to.equal(0)
    })
  }

  it('takes a question back when the last who asked it has left', async () => {
    const { requests, sent, time } = connection()
    const [one, two] = [new AbortController(), new AbortController()]
    const asked = [requests.read('app://a', one.signal), requests.read('app://a', two.signal)]
    one.abort()
    expect(requests.open).to.equal(1)
    two.abort()
    expect(sent.at(-1)).to.deep.equal({ type: 'cancel', id: 's1' })
    expect(requests.open).to.equal(0)
    expect(time.waiting).to.equal(0)
    expect(requests.settle(contents('s1', 'app://a')), 'an answer all the same').to.equal(false)
    await Promise.all(asked.map(outcomeOf))
    const anew = requests.read('app://a')
    requests.settle(contents('s2', 'app://a'))
    expect(await anew).to.have.length(1)
  })

  it('is host_busy at once when as many questions are open as may be', async () => {
    const { requests, sent } = connection({ maxLinkRequests: 2 })
    void requests.read('app://a')
    const b = requests.read('app://b')
    expect(await outcomeOf(requests.read('app://c'))).to.equal('host_busy')
    expect(sent).to.have.length(2)
    // Whoever joins one of them asks nothing.
    const joined = requests.read('app://b')
    requests.settle(contents('s2', 'app://b'))
    expect(await joined).to.equal(await b)
    void requests.read('app://c')
    expect(sent.at(-1)).to.deep.include({ type: 'read', id: 's3', uri: 'app://c' })
  })

  it('asks for a list as soon as there is room, never with more open than may be', async () => {
    const { requests, sent, time } = connection({ maxLinkRequests: 1 })
    const read = requests.read('app://a')
    const lists = [requests.list('one'), requests.list('two')]
    expect(sent).to.have.length(1)
    time.advance(5000)
    expect(await outcomeOf(read)).to.equal('host_timeout')
    expect(sent.slice(1)).to.deep.equal([
      { type: 'cancel', id: 's1' },
      { type: 'list', id: 's2', scheme: 'one', deadline_ms: 2000 },
    ])
    requests.settle({ type: 'ok', id: 's2', resources: [] })
    requests.settle({ type: 'error', id: 's3', code: 'internal', message: 'no' })
    expect(await Promise.all(lists)).to.deep.equal([
      { ok: true, value: [] },
      { ok: false, failure: 'internal: no' },
    ])
    expect(time.waiting).to.equal(0)
  })

  it('fails everything, and what comes after, when the link is lost', async () => {
    const { requests, sent, time } = connection({ maxLinkRequests: 2 })
    const asked = [requests.read('app://a'), requests.read('app://b')]
    const lists = [requests.list('app')]
    requests.disconnect()
    asked.push(requests.read('app://a'))
    lists.push(requests.list('app'))
    expect(await Promise.all(asked.map(outcomeOf))).to.deep.equal(
      Array(3).fill('host_disconnected'),
    )
    const gone = { ok: false, failure: 'host_disconnected' }
    expect(await Promise.all(lists)).to.deep.equal([gone, gone])
    expect(sent).to.have.length(2)
    expect(time.waiting).to.equal(0)
    expect(requests.settle(contents('s1', 'app://a'))).to.equal(false)
  })

  it('is host_disconnected when the question cannot be sent, and no later read joins it', async () => {
    const { requests, link, time } = connection()
    link.up = false
    expect(await outcomeOf(requests.read('app://a'))).to.equal('host_disconnected')
    expect(await requests.list('app')).to.deep.equal({ ok: false, failure: 'host_disconnected' })
    expect(requests.open).to.equal(0)
    expect(time.waiting).to.equal(0)
    link.up = true
    const again = requests.read('app://a')
    requests.settle(contents('s3', 'app://a'))
    expect(await again).to.have.length(1)
  })
})
