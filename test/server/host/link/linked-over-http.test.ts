import { request } from 'node:http'
import { expect } from 'chai'
import { type AccessEntry, silentLogger } from '../../../../src/lib/util/logger.ts'
import type { ServerMessage } from '../../../../src/lib/host-link/wire.ts'
import { AppRequests } from '../../../../src/server/host/link/app-requests.ts'
import { LinkedProducers } from '../../../../src/server/host/link/linked-producers.ts'
import { resolveLimits } from '../../../../src/lib/config/limits.ts'
import { type Events, RawSession, rpc, startServer, type TestServer } from '../../../helpers/mcp.ts'
import { callStateless, statelessHeaders, statelessRequest } from '../../../helpers/stateless.ts'
import { until } from '../../../helpers/until.ts'
import { ManualTime } from '../../../unit/resources/manual-time.ts'

type Question = Extract<ServerMessage, { type: 'read' | 'list' }>

const limits = resolveLimits({ listChangedIntervalMs: 0, maxLinkRequests: 2 })

const isListChanged = ({ method }: { method?: string }) =>
  method === 'notifications/resources/list_changed'

describe('an application behind the MCP endpoint', () => {
  let server: TestServer
  let session: RawSession
  let events: Events
  let time: ManualTime
  let asked: Question[]
  let cancelled: string[]
  /** Whose client left before the answer. */
  let cutRequests: number
  let requests: AppRequests
  let producers: LinkedProducers

  beforeEach(async () => {
    cutRequests = 0
    const accessLog = ({ status }: AccessEntry) => void (status === null && cutRequests++)
    server = await startServer({ limits }, { accessLog })
    time = new ManualTime()
    asked = []
    cancelled = []
    const parts = { timer: time, limits, log: silentLogger }
    producers = new LinkedProducers({ ...parts, registry: server.server.resources() })
    requests = new AppRequests({
      ...parts,
      send(message) {
        if (message.type === 'read' || message.type === 'list') asked.push(message)
        if (message.type === 'cancel') cancelled.push(message.id)
        return true
      },
      lateReason: () => 'host_timeout',
    })
    producers.connected(requests)
    session = await RawSession.open(server.url)
    events = await session.listen()
  })

  afterEach(async () => {
    events.close()
    producers.forget()
    await server.stop()
  })

  const untilAsked = async (count: number) => {
    while (asked.length < count) await new Promise(setImmediate)
    return asked[count - 1]?.id ?? ''
  }
  const appUris = async () => {
    const { result } = await session.call('resources/list')
    return result.resources
      .map(({ uri }: { uri: string }) => uri)
      .filter((uri: string) => uri.startsWith('app:'))
  }
  const read = (uri: string) => session.call('resources/read', { uri })
  const untilLists = (count: number) =>
    events.until(() => events.messages.filter(isListChanged).length >= count, 'list_changed')

  describe('of a reader that closes its connection', () => {
    const uri = 'app://Cube'
    /** Asks by hand; the returned function leaves. */
    const reading = (headers: Record<string, string>, body: string) => {
      const left = request(server.url, { method: 'POST', headers, agent: false })
      left.on('error', () => {})
      left.end(body)
      return () => void left.destroy()
    }
    const stateless = () =>
      reading(
        statelessHeaders('resources/read', { uri }),
        JSON.stringify(statelessRequest('resources/read', { uri })),
      )

    beforeEach(() => producers.register('app', [{ uri, name: 'Cube' }], null))

    it('is answered under the URI that was asked for, whatever the application wrote', async () => {
      const asking = `${uri}?part=1`
      const answer = read(asking)
      const contents = [{ uri: 'scene://current', text: 'now' }]
      requests.settle({ type: 'ok', id: await untilAsked(1), contents })
      expect((await answer).result.contents).to.deep.equal([
        { uri: asking, mimeType: 'text/plain', text: 'now' },
      ])
    })

    it('is asked no longer at 2026-07-28', async () => {
      const leave = stateless()
      const id = await untilAsked(1)
      leave()
      await until(() => cancelled.length > 0)
      expect(cancelled).to.deep.equal([id])
      expect(requests.open).to.equal(0)
      const again = callStateless(server.url, 'resources/read', { uri })
      const contents = [{ uri, text: 'now' }]
      requests.settle({ type: 'ok', id: await untilAsked(2), contents })
      expect((await again).json.result.contents[0].text).to.equal('now')
      expect(cancelled).to.have.length(1)
    })

    it('is asked on in a session', async () => {
      const leave = reading(session.headers, rpc('resources/read', { uri }))
      const id = await untilAsked(1)
      leave()
      await until(() => cutRequests > 0)
      expect(cancelled).to.deep.equal([])
      expect(requests.settle({ type: 'ok', id, contents: [{ uri, text: 'here' }] })).to.equal(true)
    })
  })

  it('comes, changes, and goes, each time announced on the stream', async () => {
    producers.register('app', [{ uri: 'app://Cube', name: 'Cube' }], null)
    await untilLists(1)
    expect(await appUris()).to.deep.equal(['app://Cube'])
    producers.listChanged('app', null)
    requests.settle({
      type: 'ok',
      id: await untilAsked(1),
      resources: [{ uri: 'app://Ball', name: 'Ball' }],
    })
    await untilLists(2)
    expect(await appUris()).to.deep.equal(['app://Ball'])
    producers.unregister('app')
    await untilLists(3)
    expect(await appUris()).to.deep.equal([])
    expect((await read('app://Ball')).error).to.deep.include({
      code: -32002,
      data: { uri: 'app://Ball' },
    })
  })

  it('answers what it was asked, updates included, as long as it is there', async () => {
    producers.register('app', [], [{ uriTemplate: 'app://{name}', name: 'One' }])
    const { result } = await session.call('resources/templates/list')
    expect(result.resourceTemplates.at(-1).uriTemplate).to.equal('app://{name}')
    expect((await session.call('resources/subscribe', { uri: 'app://Cube' })).result).to.deep.equal(
      {},
    )
    producers.updated('app://Cube')
    await events.until(() => events.updates.includes('app://Cube'), 'the update')

    const reading = read('app://Cube?detail=2')
    const id = await untilAsked(1)
    expect(asked[0]).to.deep.include({ type: 'read', uri: 'app://Cube?detail=2' })
    const contents = [{ uri: 'app://Cube?detail=2', mimeType: 'text/plain', text: 'live' }]
    requests.settle({ type: 'ok', id, contents })
    expect((await reading).result.contents).to.deep.equal(contents)
  })

  it('that went leaves subscriptions that wait for it, and can be given up', async () => {
    const uri = 'app://Cube'
    producers.register('app', [], null)
    await session.call('resources/subscribe', { uri })
    producers.unregister('app')
    expect((await session.call('resources/subscribe', { uri })).error.code).to.equal(-32002)
    producers.register('app', [], null)
    producers.updated(uri)
    await events.until(() => events.updates.includes(uri), 'the update')
    producers.unregister('app')
    expect((await session.call('resources/unsubscribe', { uri })).result).to.deep.equal({})
    expect((await session.call('resources/unsubscribe', { uri })).error.code).to.equal(-32002)
    const scene = 'scene://current'
    await session.call('resources/subscribe', { uri: scene })
    producers.register('app', [], null)
    producers.updated(uri)
    server.server.resources().setScene({})
    await events.until(() => events.updates.includes(scene), 'the update of the scene')
    // Gone, back, changed, gone; then given up.
    expect(events.updates).to.deep.equal([uri, uri, uri, uri, scene])
  })

  const answers: [code: string, expected: object][] = [
    [
      'not_found',
      { code: -32002, data: { uri: 'app://Cube', application_message: 'what it says' } },
    ],
    [
      'invalid',
      {
        code: -32602,
        message: 'the application refuses the URI; the application says: "what it says"',
      },
    ],
    ['busy', { code: -32603, reason: 'host_busy' }],
    ['internal', { code: -32603, reason: 'host_failed' }],
  ]
  for (const [code, expected] of answers) {
    it(`tells the client of its error ${code}`, async () => {
      producers.register('app', [], null)
      const reading = read('app://Cube')
      const id = await untilAsked(1)
      requests.settle({ type: 'error', id, code, message: 'what it says' })
      const { error } = await reading
      expect({ ...error, reason: error.data?.reason }).to.deep.include(expected)
    })
  }

  it('that hangs costs its readers an error, and a listing nothing', async () => {
    producers.register('app', [{ uri: 'app://Cube', name: 'Cube' }], null)
    const hanging = [read('app://Cube'), read('app://Ball')]
    await untilAsked(2)
    producers.listChanged('app', null)
    expect(await appUris()).to.deep.equal(['app://Cube'])
    expect((await read('app://More')).error.data.reason).to.equal('host_busy')
    time.advance(limits.linkReadMs)
    for (const { error } of await Promise.all(hanging)) {
      expect(error.code).to.equal(-32603)
      expect(error.data.reason).to.equal('host_timeout')
    }
    // The list waited for room, and nobody for the list.
    expect(asked[2]).to.deep.include({ type: 'list', scheme: 'app' })
    expect(await appUris()).to.deep.equal(['app://Cube'])
  })

  it('that is lost says so until its time is over', async () => {
    producers.register('app', [{ uri: 'app://Cube', name: 'Cube' }], null)
    const waiting = read('app://Cube')
    await untilAsked(1)
    requests.disconnect()
    producers.disconnected()
    for (const { error } of [await waiting, await read('app://Cube')]) {
      expect(error.code).to.equal(-32603)
      expect(error.data.reason).to.equal('host_disconnected')
    }
    expect(await appUris()).to.deep.equal(['app://Cube'])
    time.advance(limits.linkGraceMs)
    await untilLists(2)
    expect(await appUris()).to.deep.equal([])
  })
})
