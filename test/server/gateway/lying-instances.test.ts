import { expect } from 'chai'
import { readFile, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { GatewayHandle } from '../../../src/server/gateway.ts'
import { RawSession, rpc } from '../../helpers/mcp.ts'
import {
  type HeldRead,
  type ScriptedInstance,
  contentsOf,
  startScriptedInstance,
  updateOf,
} from '../../helpers/instances.ts'
import { callStateless, listenStateless, statelessPost } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { at, startAggregating } from './aggregating.ts'
import { newFolder } from '../../helpers/cleanup.ts'

const registryDir = newFolder()

/** Shorter than the default, to keep the test fast, and long enough for a busy machine. */
const limits = { instanceAnswerMs: 2500, instanceSilenceMs: 2500 }

describe('an instance that lies', () => {
  let gateway: GatewayHandle
  let good: RunningServe
  let bad: ScriptedInstance

  before(async () => {
    good = await serveInProcess({ registryDir, flags: ['--dcc-type', 'blender'] })
    gateway = await startAggregating(registryDir, { limits })
  })
  beforeEach(async () => {
    bad = await startScriptedInstance(registryDir)
    await until(async () => (await read(at(bad))).error === undefined, 'the instance')
  })

  const read = async (uri: string) =>
    (await callStateless(gateway.url, 'resources/read', { uri })).json
  const lookAt = ({ instanceId }: ScriptedInstance) =>
    callStateless(gateway.url, 'tools/call', { name: 'look', arguments: { instance: instanceId } })
  /** A request whose answer is read as it comes, or left. */
  const post = (method: string, params: object, signal?: AbortSignal) =>
    fetch(gateway.url, { ...statelessPost(method, { ...params }), signal: signal ?? null })

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
    const more = (): void => {
      for (let n = 0; n < 100; n++) if (res.destroyed || !res.write(piece)) break
    }
    res.on('drain', more)
    more()
  }

  it('gives no contents under the address of another', async () => {
    for (const lie of [at(good), at(good).replace('instance:', 'INSTANCE:'), at(bad, 'app/x')]) {
      bad.onRead = ({ res, id, uri }) => {
        const large = { uri: lie, text: 'x'.repeat(300_000) }
        const contents = uri.endsWith('large')
          ? [large]
          : [
              { uri, text: 'x' },
              { uri: lie, text: 'x' },
            ]
        res.end(JSON.stringify({ jsonrpc: '2.0', id, result: { contents } }))
      }
      for (const uri of [at(bad), at(bad, 'app/large')]) {
        expect((await read(uri)).error?.data.reason, lie).to.equal('instance_answer_invalid')
      }
    }
    await expectGoodServed()
  })

  it('makes only its readers fail when its answer is not valid', async () => {
    const answers: Readonly<Record<string, (id: unknown, uri: string) => string>> = {
      'with another id': (_, uri) => contentsOf(uri, 'x', 'another'),
      'with no JSON': () => 'Hello.',
      'with half an answer': (id, uri) => contentsOf(uri, 'x', id).slice(0, -3),
      'with more than its result': (id, uri) =>
        `${contentsOf(uri, 'x', id).slice(0, -1)},"x":{"y":{}}}`,
      'with no contents': id => JSON.stringify({ jsonrpc: '2.0', id, result: {} }),
      'with contents without a URI': id =>
        JSON.stringify({ jsonrpc: '2.0', id, result: { contents: [{ text: 'x' }] } }),
      'with an error of no form': id => JSON.stringify({ jsonrpc: '2.0', id, error: [1] }),
      'with brackets without end': () => '['.repeat(1_000_000),
    }
    for (const [how, answer] of Object.entries(answers)) {
      bad.onRead = ({ res, id, uri }) => void res.end(answer(id, uri))
      const { error } = await read(at(bad))
      expect(error?.data?.reason, how).to.equal('instance_answer_invalid')
    }
    await expectGoodServed()
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

  it('makes only its callers wait when it stops before or in its answer, or notifies in place of one', async () => {
    const silences: readonly ((res: ServerResponse) => unknown)[] = [
      () => {},
      res => res.flushHeaders(),
      res => res.write('{"result":{"contents":[{"te'),
    ]
    bad.onRead = ({ res, uri }) => void silences[Number(uri.at(-1))]?.(res)
    bad.onCall = ({ res }) => {
      res.setHeader('Content-Type', 'text/event-stream')
      const notification = { jsonrpc: '2.0', method: 'notifications/message', params: {} }
      const more = setInterval(() => res.write(`data: ${JSON.stringify(notification)}\n\n`), 20)
      res.once('close', () => clearInterval(more))
    }
    let failed = 0
    // The second of them waits no longer than the first.
    const names = [...silences, ...silences].map((_, n) => `app/silent${n % silences.length}`)
    const reads = names.map(async name => {
      const { error } = await read(at(bad, name))
      failed++
      return error?.data.reason
    })
    const looked = lookAt(bad)
    await expectGoodServed()
    expect(failed).to.equal(0)
    expect(await Promise.all(reads)).to.deep.equal(names.map(() => 'instance_unreachable'))
    const asked = bad.asked.filter(({ uri }) => uri?.includes('app/silent'))
    expect(asked.length).to.equal(silences.length)
    expect((await looked).json.result.content[0].text).to.include('it stopped answering')
    await until(() => bad.open === 0, 'the end of every request')
  })

  it('harms no other when its answers have no end', async () => {
    const endless = async (startOf: (uri: string, id: unknown) => string) => {
      bad.onRead = ({ res, uri, id }) => {
        res.write(startOf(uri, id))
        flood(res, 'A'.repeat(16_384))
      }
      return post('resources/read', { uri: at(bad) })
    }
    for (const start of ['{"x":"', '']) {
      const { error } = (await (await endless(() => start)).json()) as any
      expect(error?.data?.reason, start).to.equal('instance_answer_invalid')
    }
    // Contents are passed on until their reader leaves.
    const answer = await endless((uri, id) => contentsOf(uri, 'x', id).slice(0, -5))
    await expectGoodServed()
    await answer.body?.cancel()
    await until(() => bad.open === 0, 'the end of every request')
  })

  it('is not asked any longer for large contents that a batch refuses', async () => {
    const patient = await startAggregating(registryDir, {
      limits: { ...limits, instanceSilenceMs: 600_000 },
    })
    const session = await RawSession.open(patient.url, '2025-03-26')
    bad.onRead = ({ res, id, uri }) =>
      void res.write(contentsOf(uri, 'x'.repeat(300_000), id).slice(0, -3))
    const { json } = await session.post(`[${rpc('resources/read', { uri: at(bad) })}]`)
    expect(json[0].error.message).to.include('too large for a batch')
    await until(() => bad.open === 0, 'the end of the request')
  })

  it('is called by others while one client waits for it many times', async () => {
    bad.onCall = ({ res, id, params }) => {
      if (params.name === 'wait_for_change') return
      const content = [{ type: 'text', text: 'seen' }]
      res.end(JSON.stringify({ jsonrpc: '2.0', id, result: { content } }))
    }
    const params = { name: 'wait_for_change', arguments: { instance: bad.instanceId } }
    const left = new AbortController()
    // A busy machine may be too slow to connect to the instance: such a wait is sent again.
    const wait = async (): Promise<void> => {
      await (await post('tools/call', params, left.signal)).text()
      await wait()
    }
    for (let n = 0; n < 80; n++) wait().catch(() => {})
    await until(() => bad.open === 80, 'the waits')
    const { json } = await lookAt(bad)
    expect(json.result.content[0].text).to.equal('seen')
    left.abort()
    await until(() => bad.open === 0, 'the end of the waits')
  })

  it('begins to answer each of many readers, although none of them reads on', async () => {
    // A busy machine needs some seconds to begin all of them.
    const patient = await startAggregating(registryDir, { limits: { instanceAnswerMs: 60_000 } })
    bad.onRead = ({ res, id, uri }) =>
      void res.write(contentsOf(uri, 'x'.repeat(300_000), id).slice(0, -3))
    const left = new AbortController()
    const begun = Array.from({ length: 80 }, async () => {
      const asked = statelessPost('resources/read', { uri: at(bad) })
      const { body } = await fetch(patient.url, { ...asked, signal: left.signal })
      let text = ''
      for await (const chunk of body ?? []) {
        text += Buffer.from(chunk).toString()
        if (text.includes('"contents"')) return 'begun'
      }
      return text
    })
    expect(new Set(await Promise.all(begun))).to.deep.equal(new Set(['begun']))
    left.abort()
    await until(() => bad.open === 0, 'the end of every request')
    await patient.stop()
  })

  describe('about updates', () => {
    it('reaches those only who follow what it names', async () => {
      const followed = [at(bad), at(bad, 'app/one')]
      const stream = await listenStateless(gateway.url, { resourceSubscriptions: followed })
      const others = await listenStateless(gateway.url, {
        resourceSubscriptions: [at(good), 'gateway://catalog'],
      })
      const lies = [at(good), 'scene://current', at(bad, 'app/two'), 'gateway://catalog', '']
      for (const lie of lies) bad.send(updateOf(lie))
      bad.send('data: {"jsonrpc":"2.0","method":"notifications/resources/updated"}\n\n')
      bad.send('data: no JSON\n\n:\n\n')
      bad.send(updateOf(at(bad, 'app/one')))
      await stream.until(() => stream.updates.length > 0, 'the last update')
      await expectGoodServed()
      await others.until(() => others.updates.length > 0, 'the update of the good one')
      expect(stream.updates).to.deep.equal([at(bad, 'app/one')])
      expect(new Set(others.updates)).to.deep.equal(new Set([at(good)]))
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
      const opened = bad.asked.filter(({ method }) => method === 'subscriptions/listen')
      expect(opened.map(({ uris }) => uris)).to.deep.equal([[at(bad)], [at(bad)]])
      expect(counts()).to.deep.equal([1, 1])
      bad.send(updateOf(at(bad)))
      for (const stream of streams) {
        await stream.until(() => stream.updates.length > 1, 'the next update')
        stream.close()
      }
      expect(counts()).to.deep.equal([2, 2])
    })

    it('come with the stream that is open, also when the record of the instance changes', async () => {
      await listenStateless(gateway.url, { resourceSubscriptions: [at(bad)] })
      const path = join(registryDir, 'instances', `${bad.instanceId}.json`)
      const record = JSON.parse(await readFile(path, 'utf8'))
      await writeFile(path, JSON.stringify({ ...record, scene: '/shots/next.blend' }))
      const shown = async () => JSON.stringify(await read('gateway://instances'))
      await until(async () => (await shown()).includes('next.blend'), 'the change')
      const other = at(bad, 'app/other')
      await listenStateless(gateway.url, { resourceSubscriptions: [other] })
      const opened = bad.asked.filter(({ method }) => method === 'subscriptions/listen')
      expect(opened.map(({ uris }) => uris)).to.deep.equal([[at(bad)], [at(bad), other]])
    })

    it('harms no other when they have no end', async () => {
      const stream = await listenStateless(gateway.url, { resourceSubscriptions: [at(bad)] })
      const pieces = [
        updateOf(at(bad)),
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
    })

    it('is refused when the instance refuses, and comes later when it does not answer', async () => {
      const session = await RawSession.open(gateway.url)
      const subscribe = (path: string) =>
        session.call('resources/subscribe', { uri: at(bad, path) })
      const accept = bad.onListen
      const refuse = ({ res, id }: HeldRead, error: object) =>
        void res
          .writeHead(200, { 'Content-Type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, error }))
      bad.status = 413
      expect((await subscribe('app/large')).error.message).to.include('HTTP 413')
      bad.status = null
      bad.onListen = held => refuse(held, { code: -32603, message: 'never' })
      expect((await subscribe('app/refused')).error.message).to.include('the instance says: never')
      bad.onListen = held =>
        refuse(held, { code: -32602, message: 'no such', data: { uri: held.uris[0] } })
      const { error } = await subscribe('app/none')
      expect([error.code, error.data.uri]).to.deep.equal([-32002, at(bad, 'app/none')])
      // It acknowledges a part of the set.
      bad.onListen = held => accept({ ...held, uris: [at(bad, 'app/one')] })
      expect((await subscribe('app/one')).result).to.deep.equal({})
      const left = await subscribe('app/two')
      expect([left.error.code, left.error.data.uri]).to.deep.equal([-32002, at(bad, 'app/two')])
      bad.onListen = () => {}
      const hasty = await startAggregating(registryDir, { limits: { instanceAnswerMs: 300 } })
      const late = await RawSession.open(hasty.url)
      const uri = at(bad, 'app/silent')
      expect((await late.call('resources/subscribe', { uri })).result).to.deep.equal({})
      bad.onListen = accept
      const stream = await late.listen()
      await stream.until(() => stream.updates.includes(uri), 'the update')
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
    })
  })
})
