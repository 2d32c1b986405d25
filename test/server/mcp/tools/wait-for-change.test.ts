import { expect } from 'chai'
import { unknownBase } from '../../../../src/lib/mcp/change-words.ts'
import { ResourceNotFound } from '../../../../src/index.ts'
import { Events, RawSession, rpc, startServer, toolCall } from '../../../helpers/mcp.ts'
import { callStateless, statelessPost } from '../../../helpers/stateless.ts'
import { until } from '../../../helpers/until.ts'

const wait = (args: object = {}) => toolCall('wait_for_change', args)

describe('wait_for_change', () => {
  let server: Awaited<ReturnType<typeof startServer>>
  let session: RawSession
  let asked = 0
  beforeEach(async () => {
    server = await startServer({
      enableTools: true,
      limits: { maxSubscriptions: 2, waitProgressMs: 20 },
    })
    session = await RawSession.open(server.url)
    asked = 0
    const resources = server.server.resources()
    const assertSubscribable = resources.assertSubscribable.bind(resources)
    resources.assertSubscribable = uri => {
      asked++
      return assertSubscribable(uri)
    }
  })

  const resources = () => server.server.resources()
  /** A call subscribes in the same turn in which it checks what it waits for. */
  const waiting = (count: number) => until(() => asked >= count, `${count} waiting calls`)

  it('is answered by a change, with what changed in words', async () => {
    resources().setScene({ objects: [{ id: 'Cube', translate: [0, 0, 0] }] })
    const inSession = session.call('tools/call', wait())
    const statelessCall = callStateless(server.url, 'tools/call', wait())
    await waiting(2)
    const revision = resources().setScene({ objects: [{ id: 'Cube', translate: [0, 2, 0] }] })
    const results = [(await inSession).result, (await statelessCall).json.result]
    for (const { structuredContent, content } of results) {
      expect(structuredContent).to.deep.equal({
        changed: true,
        uris: ['scene://current'],
        run: resources().scene.run,
        revision,
      })
      expect(content[0].text).to.contain('Cube moved 2.00 along y')
    }
  })

  it('is answered at once when the scene is newer than since', async () => {
    const since = resources().setScene({ frame: 1 })
    const revision = resources().setScene({ frame: 2 })
    const { result } = await session.call('tools/call', wait({ since }))
    expect(result.structuredContent).to.include({ changed: true, revision })
    expect(result.content[0].text).to.contain('frame 1 → 2')
  })

  it('is answered at once when the revision is of another run, whatever its number', async () => {
    const since = resources().setScene({ frame: 1 })
    const { result } = await session.call('tools/call', wait({ since, run: 'earlier' }))
    expect(result.structuredContent).to.include({ changed: true, revision: since })
    expect(result.content[0].text).to.contain(unknownBase)
  })

  it('says that nothing changed when the time is over', async () => {
    const revision = resources().setScene({ frame: 1 })
    const { result } = await session.call('tools/call', wait({ timeout_s: 1 }))
    expect(result.structuredContent).to.include({ changed: false, revision })
    expect(result.isError).to.equal(undefined)
  })

  it('leaves no subscription behind when its caller leaves', async () => {
    const gone = new AbortController()
    const post = { ...statelessPost('tools/call', wait()), signal: gone.signal }
    const left = fetch(server.url, post).catch(() => null)
    await waiting(1)
    await session.call('resources/subscribe', { uri: 'scene://current' })
    const subscribe = async () => {
      const { error } = await session.call('resources/subscribe', { uri: 'scene://delta' })
      return error === undefined
    }
    expect(await subscribe()).to.equal(false)
    gone.abort()
    await left
    await until(subscribe, 'room for a subscription')
  })

  it('ends what it asked of the application when it is cancelled', async () => {
    const begun = Promise.withResolvers<void>()
    const left = Promise.withResolvers<void>()
    resources().attach('slow', {
      read(_uri, reader) {
        reader?.signal.addEventListener('abort', () => left.resolve())
        begun.resolve()
        return new Promise(() => {})
      },
    })
    const call = session.post(rpc('tools/call', wait({ uris: ['slow://a'] }), 'w1'))
    await begun.promise
    const params = { requestId: 'w1' }
    await session.post(
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }),
    )
    await left.promise
    expect((await call).text).to.equal('')
  })

  it('of a resource of the application ends when that is not there, or the application goes', async () => {
    const app = { instanceId: 'run-1', dccType: 'blender' }
    resources().scene.setApplication({ ...app, connected: true })
    resources().attach('app', {
      read({ text: uri }) {
        if (uri !== 'app://a') throw new ResourceNotFound(uri)
        return [{ uri, text: 'a' }]
      },
    })
    const none = await session.call('tools/call', wait({ uris: ['app://none'] }))
    expect(none.result.content[0].text).to.match(/^resource_not_found: no resource at app:\/\/none/)
    const calls = [wait({ uris: ['app://a'] }), wait({ uris: ['app://a'] })]
    const waits = calls.map(call => session.call('tools/call', call))
    await waiting(3)
    // Another scene is not what they wait for.
    resources().setScene({ frame: 1 })
    resources().notifyUpdated('app://a')
    for (const { result } of await Promise.all(waits)) {
      expect(result.structuredContent).to.deep.include({ changed: true, uris: ['app://a'] })
    }
    const last = session.call('tools/call', wait({ uris: ['app://a'] }))
    await waiting(4)
    resources().setScene(null)
    resources().scene.setApplication({ ...app, connected: false })
    resources().schemeUpdated('app')
    const { structuredContent } = (await last).result
    expect(structuredContent.changed).to.equal(false)
    expect(structuredContent.reason).to.match(/^the application is gone since /)
  })

  describe('of a scene that its application has not confirmed', () => {
    const app = { instanceId: 'run-1', dccType: 'blender' }
    let answer: () => boolean
    const show = (frame: number) =>
      resources().scene.replaceText(JSON.stringify({ frame }), 'run-1')
    const connect = () => {
      const { scene } = resources()
      scene.markUnconfirmed()
      scene.demand.supply({ refresh: async () => answer(), demand: () => {} })
      scene.setApplication({ ...app, connected: true })
    }
    beforeEach(() => {
      resources().scene.setApplication({ ...app, connected: true })
      show(1)
      resources().scene.setApplication({ ...app, connected: false })
    })
    const outcome = async (call: ReturnType<RawSession['call']>) => {
      const { content, structuredContent } = (await call).result
      const { changed, application = {} } = structuredContent
      return { text: content[0].text, changed, members: Object.keys(application) }
    }
    const reconnected = async () => {
      const call = session.call('tools/call', wait())
      await waiting(1)
      connect()
      return outcome(call)
    }
    const timedOut = () => outcome(session.call('tools/call', wait({ timeout_s: 1 })))

    it('says both while the application connected and does not confirm it', async () => {
      answer = () => false
      const { text, ...rest } = await reconnected()
      expect(text).to.match(/\nthe application connected at \S+; the application has not confirmed/)
      expect(rest).to.deep.equal({ changed: true, members: ['connected', 'since', 'as_of'] })
    })

    it('is answered by the scene that the application sends when the time is over', async () => {
      answer = () => show(2) > 0
      connect()
      const { text, ...rest } = await timedOut()
      expect(text).to.contain('frame 1 → 2')
      expect(rest).to.deep.equal({ changed: true, members: ['connected', 'since'] })
    })
  })

  it('waits for any resource that announces changes', async () => {
    const call = session.call(
      'tools/call',
      wait({ uris: ['audit://recent?limit=1', 'scene://delta'] }),
    )
    await waiting(2)
    resources().setScene({ frame: 1 })
    expect((await call).result.structuredContent.uris).to.deep.equal(['scene://delta'])
  })

  it('leaves a change of the scene to the next wait when another resource changed first', async () => {
    resources().attach('app', { read: ({ text: uri }) => [{ uri, text: 'a' }] })
    resources().setScene({ frame: 1 })
    const uris = ['app://a', 'scene://current']
    const call = session.call('tools/call', wait({ uris }))
    await waiting(2)
    resources().notifyUpdated('app://a')
    resources().setScene({ frame: 2 })
    const { structuredContent } = (await call).result
    expect(structuredContent.uris).to.deep.equal(['app://a'])
    const next = await session.call('tools/call', wait({ uris, since: structuredContent.revision }))
    expect(next.result.content[0].text).to.contain('frame 1 → 2')
  })

  it('reports progress as events when asked to, and ends with the answer', async () => {
    const call = wait({ timeout_s: 12 })
    const params = { ...call, _meta: { ...call._meta, progressToken: 'p' } }
    const events = await Events.open(server.url, session.headers, rpc('tools/call', params, 9))
    await events.until(() => events.messages.length > 0)
    expect(events.messages[0]).to.deep.include({
      method: 'notifications/progress',
      params: { progressToken: 'p', progress: 0, total: 12, message: 'waiting for a change' },
    })
    resources().setScene({ frame: 1 })
    await events.untilEnded()
    expect(events.messages.at(-1)).to.include({ id: 9 })
    expect(events.messages.at(-1).result.structuredContent).to.include({ changed: true })
  })
})
