import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { GatewayHandle } from '../../../src/server/gateway/options.ts'
import { RawSession, rpc, toolCall } from '../../helpers/mcp.ts'
import { contentsOf, startScriptedInstance, updateOf } from '../../helpers/scripted-instance.ts'
import type { HeldRead, ScriptedInstance } from '../../helpers/scripted-instance.ts'
import {
  callStateless,
  listenStateless,
  statelessHeaders,
  statelessRequest,
} from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { at, startAggregating } from './aggregating.ts'

/** Shorter than the default, to keep the test fast, and long enough for a busy machine. */
const limits = { instanceAnswerMs: 4000, instanceSilenceMs: 4000 }

describe('an instance that lies', () => {
  let registryDir: string
  let gateway: GatewayHandle
  let good: RunningServe
  let bad: ScriptedInstance
  const openResponses = new Set<ServerResponse>()

  before(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'gateway-lying-'))
    good = await serveInProcess({ registryDir, flags: ['--dcc-type', 'blender'] })
    gateway = await startAggregating(registryDir, { limits })
  })
  after(async () => {
    await gateway?.stop()
    await good?.stop()
    await rm(registryDir, { recursive: true, force: true })
  })
  beforeEach(async () => {
    bad = await startScriptedInstance(registryDir)
    await until(async () => {
      const { error } = await read(at(bad))
      return error === undefined
    }, 'the instance')
  })
  afterEach(async () => {
    for (const res of openResponses) res.destroy()
    openResponses.clear()
    await bad.stop()
  })

  const read = async (uri: string) =>
    (await callStateless(gateway.url, 'resources/read', { uri })).json
  const completeAt = ({ instanceId }: ScriptedInstance, path = 'notes/{id}', name = 'id') =>
    callStateless(gateway.url, 'completion/complete', {
      ref: { type: 'ref/resource', uri: `instance://{instance_id}/${path}` },
      argument: { name, value: '' },
      context: { arguments: { instance_id: instanceId } },
    })
  /** A request whose answer is read as it comes, or left. */
  const post = (method: string, params: object, signal?: AbortSignal) =>
    fetch(gateway.url, {
      method: 'POST',
      headers: statelessHeaders(method, { ...params }),
      body: JSON.stringify(statelessRequest(method, { ...params })),
      signal: signal ?? null,
    })

  let value = 0
  /** A reader and a follower of the good instance have what it has now. */
  async function expectGoodServed(): Promise<void> {
    const stream = await listenStateless(gateway.url, { resourceSubscriptions: [at(good)] })
    await good.post('scene', { value: ++value })
    await stream.until(() => stream.updates.includes(at(good)), 'the update of the good one')
    stream.close()
    expect(JSON.parse((await read(at(good))).result.contents[0].text)).to.deep.equal({ value })
  }

  /** Writes without end, as fast as it is taken, until the connection is gone. */
  function flood(res: ServerResponse, piece: string): void {
    openResponses.add(res)
    const more = (): void => {
      for (let n = 0; n < 100; n++) if (res.destroyed || !res.write(piece)) break
    }
    res.on('drain', more)
    more()
  }

  it('gives contents under the address that was asked for, or another one of its own', async () => {
    const own = at(bad)
    const lies = ['scene://current', at(good), 'file:///etc/passwd', 'no uri']
    for (const lie of lies) {
      bad.onRead = ({ res, id }) => {
        const contents = [lie, lie].map(uri => ({ uri, text: 'x' }))
        res.end(JSON.stringify({ jsonrpc: '2.0', id, result: { contents } }))
      }
      const { contents } = (await read(own)).result
      expect(contents[0].uri, lie).to.equal(own)
      expect(contents[1].uri, lie).to.satisfy((uri: string) => uri.startsWith(at(bad, '')))
    }
  })

  const answers: Readonly<Record<string, (id: unknown, uri: string) => string>> = {
    'with another id': (_, uri) => contentsOf(uri, 'x', 'another'),
    'with no JSON': () => 'Hello.',
    'with half an answer': (id, uri) => contentsOf(uri, 'x', id).slice(0, -3),
    'with no contents': id => JSON.stringify({ jsonrpc: '2.0', id, result: {} }),
    'with contents without a URI': id =>
      JSON.stringify({ jsonrpc: '2.0', id, result: { contents: [{ text: 'x' }] } }),
    'with an error of no form': id => JSON.stringify({ jsonrpc: '2.0', id, error: [1] }),
    'with brackets without end': () => '['.repeat(1_000_000),
  }
  for (const [how, answer] of Object.entries(answers)) {
    it(`makes only its readers fail when it answers ${how}`, async () => {
      bad.onRead = ({ res, id, uri }) => void res.end(answer(id, uri))
      const { error } = await read(at(bad))
      expect(error?.data?.reason).to.equal('instance_answer_invalid')
      await expectGoodServed()
    })
  }

  it('makes no call fail when it names objects in place of URIs', async () => {
    const noText = { toString: 0, valueOf: 0 }
    const uris = [noText, 'scene://current']
    bad.onCall = ({ res, id, method }) => {
      const told = { content: [], structuredContent: { changed: true, uris } }
      const listed = { resources: uris.map(uri => ({ uri, name: 'x' })) }
      const result = method === 'tools/call' ? told : listed
      res.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    }
    const call = toolCall('wait_for_change', { uris: [at(bad)] })
    const { result } = (await callStateless(gateway.url, 'tools/call', call)).json
    expect(result.structuredContent).to.deep.equal({ changed: true, uris: [noText, at(bad)] })
    const completed = await completeAt(bad, '{scheme}/{+path}', 'scheme')
    expect(completed.json.result?.completion.values).to.deep.equal(['scene'])
  })

  it('makes only its readers fail when it is cut, and never passes half as whole', async () => {
    bad.onRead = ({ res, id, uri }) => {
      res.write(contentsOf(uri, 'x', id).slice(0, -3))
      setImmediate(() => res.destroy())
    }
    expect((await read(at(bad))).error.data.reason).to.equal('instance_unreachable')
    bad.onRead = ({ res, id, uri }) => {
      const large = contentsOf(uri, 'x'.repeat(2_000_000), id).slice(0, -3)
      res.write(large, () => res.destroy())
    }
    expect(await read(at(bad)).catch((error: Error) => error)).to.be.instanceOf(Error)
    await expectGoodServed()
  })

  it('makes only its readers wait when it stops before, at the beginning or in the middle of its answer', async () => {
    const silences: readonly ((res: ServerResponse) => unknown)[] = [
      () => {},
      res => res.flushHeaders(),
      res => res.write('{"result":{"contents":[{"te'),
    ]
    const paths = silences.map((_, n) => `app/silent${n}`)
    bad.onRead = ({ res, uri }) => {
      openResponses.add(res)
      silences[Number(uri.at(-1))]?.(res)
    }
    let failed = 0
    const answers = paths.map(async path => {
      const { error } = await read(at(bad, path))
      failed++
      return error?.data.reason
    })
    await expectGoodServed()
    expect(failed).to.equal(0)
    expect(await Promise.all(answers)).to.deep.equal(paths.map(() => 'instance_unreachable'))
  })

  it('harms no other when its answers have no end', async () => {
    const endless = async (start: string) => {
      bad.onRead = ({ res }) => {
        res.write(start)
        flood(res, 'A'.repeat(16_384))
      }
      return post('resources/read', { uri: at(bad) })
    }
    for (const start of ['{"x":"', '']) {
      const { error } = (await (await endless(start)).json()) as any
      expect(error?.data?.reason, start).to.equal('instance_answer_invalid')
    }
    // Contents are passed on until their reader leaves.
    const answer = await endless('{"result":{"contents":[{"blob":"')
    await expectGoodServed()
    await answer.body?.cancel()
    await until(() => bad.open === 0, 'the end of every request')
  })

  it('tells a caller of no progress that is not above the last one', async () => {
    bad.onCall = ({ res, id }) => {
      res.setHeader('Content-Type', 'text/event-stream')
      const send = (message: object) =>
        res.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
      for (const progress of [1, 1, 2, 1, 3]) {
        const params = { progressToken: 1, progress, total: 9 }
        send({ method: 'notifications/progress', params })
      }
      send({ id, result: { content: [] } })
      res.end()
    }
    const params = { name: 'look', arguments: { instance: bad.instanceId } }
    const answer = await post('tools/call', { ...params, _meta: { progressToken: 'p' } })
    const told = Array.from((await answer.text()).matchAll(/"progress":(\d)/g), ([, n]) => n)
    expect(told).to.deep.equal(['1', '2', '3'])
  })

  it('is given up when it notifies without end in place of an answer', async () => {
    bad.onCall = ({ res }) => {
      res.setHeader('Content-Type', 'text/event-stream')
      const notification = { jsonrpc: '2.0', method: 'notifications/message', params: {} }
      const more = setInterval(() => res.write(`data: ${JSON.stringify(notification)}\n\n`), 20)
      res.once('close', () => clearInterval(more))
    }
    await completeAt(bad)
    await expectGoodServed()
    await until(() => bad.open === 0, 'the end of the request')
  })

  it('is not asked any longer for large contents that a batch refuses', async () => {
    const patient = await startAggregating(registryDir, {
      limits: { ...limits, instanceSilenceMs: 600_000 },
    })
    const session = await RawSession.open(patient.url, '2025-03-26')
    bad.onRead = ({ res, id, uri }) => {
      openResponses.add(res)
      res.write(contentsOf(uri, 'x'.repeat(300_000), id).slice(0, -3))
    }
    try {
      const { json } = await session.post(`[${rpc('resources/read', { uri: at(bad) })}]`)
      expect(json[0].error.message).to.include('too large for a batch')
      await until(() => bad.open === 0, 'the end of the request')
    } finally {
      await patient.stop()
    }
  })

  it('does not end a gateway that refuses to wait for it and for itself', async () => {
    const full = await startAggregating(registryDir, { limits: { ...limits, maxWaits: 0 } })
    bad.onCall = ({ res }) => void openResponses.add(res)
    const call = { name: 'wait_for_change', arguments: { uris: [at(bad), 'gateway://instances'] } }
    const { result } = (await callStateless(full.url, 'tools/call', call)).json
    expect(result.content[0].text).to.match(/^limit_reached: /)
    await full.stop()
  })

  it('is called by others while one client waits for it many times', async () => {
    bad.onCall = ({ res, id, method }) => {
      if (method === 'tools/call') return void openResponses.add(res)
      res.end(
        JSON.stringify({
          jsonrpc: '2.0',
          id,
          result: { completion: { values: ['a'], hasMore: true } },
        }),
      )
    }
    const params = { name: 'wait_for_change', arguments: { instance: bad.instanceId } }
    const left = new AbortController()
    // A busy machine may be too slow to connect to the instance: such a wait is sent again.
    const wait = async (): Promise<void> => {
      await (await post('tools/call', params, left.signal)).text()
      await wait()
    }
    for (let n = 0; n < 256; n++) wait().catch(() => {})
    await until(() => bad.open === 256, 'the waits')
    const { json } = await completeAt(bad)
    expect(json.result.completion.values).to.deep.equal(['a'])
    left.abort()
    await until(() => bad.open === 0, 'the end of the waits')
  })

  it('is named when it asks for a key', async () => {
    bad.status = 401
    const { error } = await read(at(bad))
    expect([error.data.reason, error.message]).to.satisfy(
      ([reason, message]: string[]) => reason === 'instance_auth' && message?.includes('401'),
    )
    const session = await RawSession.open(gateway.url)
    const refused = await session.call('resources/subscribe', { uri: at(bad) })
    expect(refused.error.message).to.include('401')
    await expectGoodServed()
  })

  it('does not keep a gateway that stops waiting', async () => {
    const stopping = await startAggregating(registryDir, { limits })
    await listenStateless(stopping.url, { resourceSubscriptions: [at(bad)] })
    const farewell = Promise.withResolvers<{ end(): unknown }>()
    bad.onEnd = farewell.resolve
    await stopping.stop()
    // Only now does it answer.
    const answer = await farewell.promise
    answer.end()
  })

  describe('about updates', () => {
    it('reaches those only who follow what it names', async () => {
      const followed = [at(bad), at(bad, 'app/one')]
      const stream = await listenStateless(gateway.url, { resourceSubscriptions: followed })
      const others = await listenStateless(gateway.url, {
        resourceSubscriptions: [at(good), 'gateway://catalog'],
      })
      const lies = [at(bad), at(good), 'scene://other', 'app://two', 'gateway://catalog', '']
      for (const lie of lies) bad.send(updateOf(lie))
      bad.send('data: {"jsonrpc":"2.0","method":"notifications/resources/updated"}\n\n')
      bad.send('data: no JSON\n\n:\n\n')
      bad.send(updateOf('app://one'))
      await stream.until(() => stream.updates.length > 0, 'the last update')
      await expectGoodServed()
      await others.until(() => others.updates.length > 0, 'the update of the good one')
      expect(stream.updates).to.deep.equal([at(bad, 'app/one')])
      expect(new Set(others.updates)).to.deep.equal(new Set([at(good)]))
      stream.close()
      others.close()
    })

    it('tells clients that follow it when it lists others', async () => {
      const session = await RawSession.open(gateway.url)
      await session.call('resources/subscribe', { uri: at(bad) })
      const followed = { resourceSubscriptions: [at(bad)], resourcesListChanged: true }
      const streams = [await session.listen(), await listenStateless(gateway.url, followed)]
      const method = 'notifications/resources/list_changed'
      const counts = () =>
        streams.map(({ messages }) => messages.filter(message => message.method === method).length)
      // One may be due, because the instance has come.
      const before = counts()
      await until(() => {
        bad.send(`data: {"jsonrpc":"2.0","method":"${method}"}\n\n`)
        return counts().every((count, n) => count > before[n]! + 1)
      }, 'list_changed on each stream')
      for (const stream of streams) stream.close()
    })

    it('is subscribed again after a loss, of which its followers hear once', async () => {
      const session = await RawSession.open(gateway.url)
      await session.call('resources/subscribe', { uri: at(bad) })
      const followed = { resourceSubscriptions: [at(bad, 'scene/current?view=summary')] }
      const streams = [await session.listen(), await listenStateless(gateway.url, followed)]
      const counts = () => streams.map(({ updates }) => updates.length)
      bad.cut()
      for (const stream of streams) {
        await stream.until(() => stream.updates.length > 0, 'the update after the loss')
      }
      const subscribed = bad.asked.filter(({ method }) => method === 'resources/subscribe')
      expect(subscribed.map(({ uri }) => uri)).to.deep.equal(['scene://current', 'scene://current'])
      expect(counts()).to.deep.equal([1, 1])
      bad.send(updateOf('scene://current'))
      for (const stream of streams) {
        await stream.until(() => stream.updates.length > 1, 'the next update')
        stream.close()
      }
      expect(counts()).to.deep.equal([2, 2])
    })

    it('harms no other when they have no end', async () => {
      const stream = await listenStateless(gateway.url, { resourceSubscriptions: [at(bad)] })
      const pieces = [
        updateOf('scene://current'),
        'data: {"jsonrpc":"2.0","method":"notifications/resources/list_changed"}\n\n',
        `data: ${'x'.repeat(1000)}`,
      ]
      for (const piece of pieces) {
        let isOver = false
        const more = (): void => {
          for (let n = 0; n < 500; n++) bad.send(piece)
          if (!isOver) setTimeout(more, 5)
        }
        more()
        await expectGoodServed()
        isOver = true
      }
      await stream.until(() => stream.updates.includes(at(bad)), 'its own updates')
      stream.close()
    })

    it('is refused when the instance refuses, and comes later when it does not answer', async () => {
      const session = await RawSession.open(gateway.url)
      const subscribe = (path: string) =>
        session.call('resources/subscribe', { uri: at(bad, path) })
      const accept = bad.onSubscribe
      const refuse = ({ res, id }: HeldRead, error: object) =>
        void res
          .writeHead(200, { 'Content-Type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, error }))
      bad.onSubscribe = held => refuse(held, { code: -32603, message: 'never' })
      expect((await subscribe('app/refused')).error.message).to.include('the instance says: never')
      bad.onSubscribe = held =>
        refuse(held, { code: -32002, message: 'no such', data: { uri: held.uri } })
      const { error } = await subscribe('app/none')
      expect([error.code, error.data.uri]).to.deep.equal([-32002, at(bad, 'app/none')])
      bad.onSubscribe = ({ res }) => void openResponses.add(res)
      const waiting = subscribe('app/silent')
      await until(() => bad.asked.some(({ uri }) => uri === 'app://silent'), 'the request')
      await expectGoodServed()
      expect((await waiting).result).to.deep.equal({})
      bad.onSubscribe = accept
      const stream = await session.listen()
      await stream.until(() => stream.updates.includes(at(bad, 'app/silent')), 'the update')
      stream.close()
    })

    it('come later to a stream that is opened while the instance cannot be reached', async () => {
      bad.status = 503
      const uris = [at(bad, 'app/later'), at(good)]
      const stream = await listenStateless(gateway.url, { resourceSubscriptions: uris })
      const { notifications } = stream.messages[0].params
      expect(notifications).to.deep.equal({ resourceSubscriptions: uris })
      bad.status = null
      await stream.until(() => stream.updates.length > 0, 'the update')
      expect(stream.updates).to.deep.equal([at(bad, 'app/later')])
      stream.close()
    })
  })
})
