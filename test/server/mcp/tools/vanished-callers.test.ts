import { expect } from 'chai'
import { silentLogger } from '../../../../src/lib/util/logger.ts'
import { ok } from '../../../../src/lib/util/result.ts'
import type { SubscriptionHub } from '../../../../src/server/mcp/subscriptions.ts'
import { applicationTools } from '../../../../src/server/mcp/tools/tools.ts'
import type { Content, Descriptor } from '../../../../src/server/resources/producer.ts'
import { serveInProcess } from '../../../helpers/in-process-servers.ts'
import { RawSession, rpc, startServer, type TestServer } from '../../../helpers/mcp.ts'
import { MemoryBackend } from '../../../helpers/pictures.ts'
import { callStateless, statelessHeaders, statelessRequest } from '../../../helpers/stateless.ts'
import { until } from '../../../helpers/until.ts'

/** A request that the test can cut; `answer` is its text, or null when it was cut. */
function send(url: string, headers: Record<string, string>, body: string) {
  const gone = new AbortController()
  const answer = fetch(url, { method: 'POST', headers, body, signal: gone.signal }).then(
    async res => res.text(),
    () => null,
  )
  return { answer, cut: () => gone.abort() }
}

function sendStateless(url: string, name: string, args: object, id: number) {
  const params = { name, arguments: args }
  const body = JSON.stringify(statelessRequest('tools/call', params, id))
  return send(url, statelessHeaders('tools/call', params), body)
}

/** What the application is asked for and has not answered. */
class Questions {
  readonly open: (() => void)[] = []
  asked = 0

  /** Answered when the test says so. */
  ask<Value>(value: Value): Promise<Value> {
    this.asked++
    return new Promise(resolve => this.open.push(() => resolve(value)))
  }

  answer(): void {
    for (const answer of this.open.splice(0)) answer()
  }
}

const calls: [name: string, args: object][] = [
  ['list_resources', { scheme: 'app' }],
  ['read_resource', { uri: 'app://a' }],
  ['query_scene', {}],
  ['scene_changes', {}],
  ['look', {}],
  ['wait_for_change', {}],
]

describe('a caller that leaves in the midst of a call', () => {
  let server: TestServer
  let questions: Questions
  let backend: MemoryBackend
  let hub: SubscriptionHub
  const waits = new Set<unknown>()
  const errors: unknown[] = []
  /** Statuses of the calls that are over. */
  let logged: unknown[]

  before(async () => {
    backend = new MemoryBackend()
    server = await startServer(
      { enableTools: true },
      {
        capture: backend,
        accessLog: ({ rpc, status }) => void (rpc?.startsWith('tools/call') && logged.push(status)),
        log: { ...silentLogger, error: (fields: unknown) => void errors.push(fields) },
        tools: parts => {
          hub = parts.hub
          return applicationTools({ ...parts, waits })
        },
      },
      own =>
        own
          .resources()
          .addProducer({
            scheme: 'app',
            list: () => questions.ask<Descriptor[]>([{ uri: 'app://a', name: 'a' }]),
            read: uri => questions.ask<Content[]>([{ uri, text: 'a' }]),
          }),
    )
    const { scene } = server.server.resources()
    scene.setApplication({ instanceId: 'run', dccType: 'blender', connected: true })
    scene.demand.supply({ refresh: () => questions.ask(true), demand: () => {} })
  })
  beforeEach(() => {
    questions = new Questions()
    backend.held = true
    backend.takings.length = 0
    logged = []
    change()
  })
  after(() => server.stop())

  const change = () => server.server.resources().scene.replaceText('{"objects":[]}', 'run')
  const begun = (name: string) => {
    if (name === 'wait_for_change') return () => waits.size > 0
    if (name === 'look') return () => backend.takings.length > 0
    return () => questions.asked > 0
  }
  const go = () => {
    questions.answer()
    for (const { outcome } of backend.takings) outcome.resolve(ok(backend.picture(40)))
    server.server.resources().notifyUpdated('app://a')
  }

  const ways: [string, (name: string, args: object) => Promise<void>][] = [
    [
      'by closing its connection, of 2026-07-28',
      async (name, args) => {
        const sent = sendStateless(server.url, name, args, 1)
        await until(begun(name), 'the call')
        sent.cut()
        expect(await sent.answer).to.equal(null)
        await until(() => logged.length > 0, 'the server knows')
        expect(logged).to.deep.equal([null])
      },
    ],
    [
      'by a cancellation, in a session',
      async (name, args) => {
        const session = await RawSession.open(server.url)
        const sent = session.post(rpc('tools/call', { name, arguments: args }, 7))
        await until(begun(name), 'the call')
        const params = { requestId: 7 }
        await session.post(
          JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }),
        )
        // A call whose work would not notice runs to its end, and is answered.
        go()
        const { text } = await sent
        if (text !== '') expect(text).to.contain('"id":7')
      },
    ],
    [
      'by closing its connection, in a session that it ends',
      async (name, args) => {
        const session = await RawSession.open(server.url)
        const body = rpc('tools/call', { name, arguments: args }, 7)
        const sent = send(server.url, session.headers, body)
        await until(begun(name), 'the call')
        sent.cut()
        await until(() => logged.length > 0, 'the server knows')
        await session.delete()
      },
    ],
  ]
  for (const [way, leave] of ways) {
    for (const [name, args] of calls) {
      it(`${name}: leaves nothing behind, and the next is answered, ${way}`, async () => {
        await leave(name, args)
        go()
        backend.held = false
        await until(() => waits.size === 0, 'no wait')
        expect(hub.size).to.equal(0)
        const next = sendStateless(server.url, name, args, 2)
        if (name === 'wait_for_change') await until(() => waits.size > 0, 'a wait')
        let answer: string | null | undefined
        void next.answer.then(text => (answer = text))
        await until(() => {
          questions.answer()
          if (waits.size > 0) change()
          return answer !== undefined
        }, 'the next answer')
        expect(answer).to.contain('"id":2').and.not.contain('isError')
        expect(errors).to.deep.equal([])
      })
    }
  }
})

describe('a caller that leaves in the midst of a call about notes', () => {
  it('has answered the note once, and its proof is made', async () => {
    const serve = await serveInProcess()
    const note = async () => {
      const { json } = await callStateless(serve.url, 'resources/read', { uri: 'notes://1' })
      return JSON.parse(json.result.contents[0].text)
    }
    await serve.post('scene', { objects: [] })
    await serve.post('notes', { text: 'Higher' })
    const sent = sendStateless(serve.url, 'answer_note', { id: '1', text: 'done' }, 1)
    // Kept at once; the proof waits until the scene is still.
    await until(async () => (await note()).state === 'answered', 'the answer')
    sent.cut()
    expect(await sent.answer).to.equal(null)
    await until(async () => (await note()).entries[0].proof !== undefined, 'the proof')
    expect((await note()).entries).to.have.length(1)
    await serve.stop()
  })
})
