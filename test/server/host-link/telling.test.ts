import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { systemTimer, type Timer } from '../../../src/lib/util/time.ts'
import { Bench, errorOf } from './bench.ts'
import { type Message, type Script, welcome, within } from './scripted-server.ts'

const limited = (limits: object): Script => ({
  welcome: { ...welcome, limits: { ...welcome.limits, ...limits } },
})

describe('HostClient, telling the server', () => {
  let bench: Bench
  beforeEach(() => {
    bench = new Bench()
  })
  afterEach(() => bench.end())

  describe('the scene', () => {
    it('is taken with a revision, as it was when it was set', async () => {
      const { host, peer } = await bench.linked({ answer: () => ({ revision: 7 }) })
      const scene = { frame: 1 }
      host.setScene(scene)
      scene.frame = 2
      expect(await within(host.sceneSettled(), 'the scene')).to.equal(7)
      expect((await peer.next('scene.set')).scene).to.deep.equal({ frame: 1 })
      host.setScene(null)
      expect((await peer.next('scene.set', 2)).scene).to.equal(null)
    })

    it('has one in flight; of those meanwhile only the newest is sent', async () => {
      const { host, peer } = await bench.linked({ answer: () => null })
      for (let frame = 1; frame <= 1000; frame++) host.setScene({ frame })
      const first = await peer.next('scene.set')
      for (let frame = 1001; frame <= 2000; frame++) host.setScene({ frame })
      const settled = host.sceneSettled()
      await new Promise(setImmediate)
      expect(peer.of('scene.set')).to.have.length(1)
      peer.send({ type: 'ok', id: first.id, revision: 1 })
      const second = await peer.next('scene.set', 2)
      expect([first.scene.frame, second.scene.frame]).to.deep.equal([1000, 2000])
      peer.send({ type: 'ok', id: second.id, revision: 2 })
      expect(await within(settled, 'the newest scene')).to.equal(2)
    })

    it('is sent as what changed to a server that takes patches, and whole where it must', async () => {
      let revision = 6
      const answer = ({ type, base }: Message) => {
        if (type !== 'scene.patch' || base === revision) revision++
        return { revision }
      }
      const script = { welcome: { ...welcome, scene_patch: true }, answer }
      const { host, peer } = await bench.linked(script)
      const pad = 'x'.repeat(1000)
      const set = async (scene: object) => {
        host.setScene(scene)
        await within(host.sceneSettled(), 'the scene')
      }
      await set({ pad, frame: 1, objects: [{ id: 'Cube' }, { id: 'Lamp' }] })
      await set({ pad, mode: 'edit', objects: [{ id: 'Lamp', x: 1 }, { id: 'Rig' }] })
      expect(peer.of('scene.patch')[0]).to.deep.include({
        base: 7,
        objects: [{ id: 'Lamp', x: 1 }, { id: 'Rig' }],
        removed: ['Cube'],
        members: { mode: 'edit' },
        unset: ['frame'],
      })
      // An equal scene is told of, too; another order, and objects without ids, are no patch.
      for (const objects of [
        [{ id: 'Lamp', x: 1 }, { id: 'Rig' }],
        [{ id: 'Rig' }, { id: 'Lamp', x: 1 }],
        [{ id: 'Rig' }, {}],
      ]) {
        await set({ pad, mode: 'edit', objects })
      }
      expect(peer.of('scene.set')).to.have.length(4)
      expect(peer.of('scene.patch')).to.have.length(1)
    })

    it('is patched at the cost of what changes, also by what came while a patch was under way', async () => {
      const script = { welcome: { ...welcome, scene_patch: true }, answer: () => null }
      const { host, peer } = await bench.linked(script)
      const objects = Array.from({ length: 100 }, (_, at) => ({ id: `Prop.${at}`, x: 0 }))
      host.setScene({ frame: 1, objects })
      peer.send({ type: 'ok', id: (await peer.next('scene.set')).id, revision: 7 })
      await within(host.sceneSettled(), 'the scene')
      host.patchScene({ objects: [{ id: 'Prop.5', x: 1 }] })
      const first = await peer.next('scene.patch')
      host.patchScene({ objects: [{ id: 'Prop.5', x: 2 }], removed: ['Prop.6'] })
      host.patchScene({ members: { frame: 2 } })
      expect(first).to.deep.include({ base: 7, objects: [{ id: 'Prop.5', x: 1 }], members: {} })
      peer.send({ type: 'ok', id: first.id, revision: 8 })
      const second = await peer.next('scene.patch', 2)
      expect(second).to.deep.include({
        base: 8,
        objects: [{ id: 'Prop.5', x: 2 }],
        removed: ['Prop.6'],
        members: { frame: 2 },
        unset: [],
      })
      expect(JSON.stringify(second).length).to.be.lessThan(2000)
      const stale = { code: 'stale', message: 'another scene', retryable: false }
      peer.send({ type: 'error', id: second.id, ...stale })
      const { scene } = await peer.next('scene.set', 2)
      expect(scene.objects).to.have.length(99)
      expect(scene).to.deep.include({ frame: 2 })
    })

    it('has no more objects than the server takes', async () => {
      const limits = { max_message_bytes: 2000, max_scene_bytes: 10_000, max_patched_objects: 50 }
      const script = {
        welcome: { ...welcome, scene_patch: true, limits: { ...welcome.limits, ...limits } },
      }
      const { host } = await bench.linked(script)
      const objects = (count: number) =>
        Array.from({ length: count }, (_, at) => ({ id: `Prop.${at}`, x: 'x'.repeat(30) }))
      expect(() => host.setScene({ objects: objects(51) })).to.throw('limit of 50')
      expect(() => host.setScene({ objects: objects(400) })).to.throw('limit of 10000')
      expect(() => host.setScene({ objects: objects(49).map(({ x }) => ({ x })) })).to.throw(
        'need ids',
      )
      host.setScene({ objects: objects(50) })
      await within(host.sceneSettled(), 'the scene')
    })

    it('is sent whole when the server has another one', async () => {
      const script = { welcome: { ...welcome, scene_patch: true }, answer: () => null }
      const { host, peer } = await bench.linked(script)
      const scene = { pad: 'x'.repeat(1000), objects: [{ id: 'Cube', x: 0 }] }
      host.setScene(scene)
      peer.send({ type: 'ok', id: (await peer.next('scene.set')).id, revision: 7 })
      await within(host.sceneSettled(), 'the scene')
      host.setScene({ ...scene, objects: [{ id: 'Cube', x: 1 }] })
      const { id } = await peer.next('scene.patch')
      const stale = { code: 'stale', message: 'another scene', retryable: false }
      peer.send({ type: 'error', id, ...stale })
      expect((await peer.next('scene.set', 2)).scene.objects).to.deep.equal([{ id: 'Cube', x: 1 }])
    })

    it('takes no memory while the server is slow', async () => {
      setFlagsFromString('--expose-gc')
      const collect: () => void = runInNewContext('gc')
      const { host, peer } = await bench.linked({ answer: () => null })
      const objects = Array.from({ length: 200 }, (_, id) => ({ id: `Cube.${id}`, visible: true }))
      host.setScene({ objects })
      await peer.next('scene.set')
      collect()
      const before = process.memoryUsage().heapUsed
      for (let frame = 0; frame < 10_000; frame++) host.setScene({ frame, objects })
      collect()
      const grown = process.memoryUsage().heapUsed - before
      // The 10,000 together have about 70 MiB.
      expect(grown).to.be.lessThan(8 * 1024 * 1024)
      expect(peer.of('scene.set')).to.have.length(1)
    })

    it('keeps the interval of the welcome, and the one of a throttle', async () => {
      const waits: number[] = []
      let nowMs = 0
      // Time passes only while the client waits for an interval.
      const timer: Timer = {
        after: (delayMs, run) =>
          systemTimer.after(delayMs, () => {
            if (delayMs === 200 || delayMs === 300) {
              waits.push(delayMs)
              nowMs += delayMs
            }
            run()
          }),
      }
      const { host, peer } = await bench.linked(
        limited({ scene_min_interval_ms: 200 }),
        {},
        { timer, clock: { now: () => nowMs } },
      )
      const set = async (frame: number) => {
        host.setScene({ frame })
        await within(host.sceneSettled(), 'the scene')
      }
      await set(1)
      expect(waits).to.deep.equal([])
      await set(2)
      expect(waits).to.deep.equal([200])
      peer.send({ type: 'throttle', scene_min_interval_ms: 300 })
      // Behind the throttle, so that it is known to have arrived.
      peer.send({ type: 'newer.question', id: 'q' })
      await peer.next('error')
      await set(3)
      expect(waits).to.deep.equal([200, 300])
    })

    it('is sent again to a server that is started anew, after what it belongs to', async () => {
      const { server, host, peer } = await bench.linked()
      host.setScene({ frame: 1 })
      host.setDocument({ path: '/a.blend' })
      host.openEvents('console', { maxlen: 50 })
      host.addProducer({ scheme: 'memo', list: () => [], read: () => [] })
      await within(host.sceneSettled(), 'the scene')
      await peer.next('producer.register')
      const { port } = server
      await server.kill()
      const again = await bench.serve({ port })
      const second = await again.peer()
      expect((await second.next('scene.set')).scene).to.deep.equal({ frame: 1 })
      expect((await second.next('hello')).document).to.deep.equal({ path: '/a.blend' })
      expect(await second.next('events.open')).to.include({ session_id: 'console', maxlen: 50 })
      expect(await second.next('producer.register')).to.include({ scheme: 'memo' })
    })

    it('that the server refuses is reported, and the next one is sent', async () => {
      const { host, peer } = await bench.linked({ answer: () => null })
      host.setScene({ frame: 1 })
      const refused = errorOf(host.sceneSettled())
      const { id } = await peer.next('scene.set')
      peer.send({ type: 'error', id, code: 'invalid', message: '/scene is odd', retryable: false })
      expect(await refused).to.include({ code: 'invalid', message: '/scene is odd' })
      expect(host.status.lastError).to.equal('the scene was refused: /scene is odd (invalid)')
      host.setScene({ frame: 2 })
      expect((await peer.next('scene.set', 2)).scene).to.deep.equal({ frame: 2 })
    })

    it('is sent again when no answer comes, and when the server was busy', async () => {
      const { host, peer } = await bench.linked(
        { answer: () => null },
        { limits: { answerTimeoutMs: 50 } },
      )
      host.setScene({ frame: 1 })
      const first = await peer.next('scene.set')
      const second = await peer.next('scene.set', 2)
      // Late: it must not be taken for the answer to the second one.
      peer.send({ type: 'ok', id: first.id, revision: 1 })
      peer.send({ type: 'error', id: second.id, code: 'busy', message: '', retryable: true })
      const third = await peer.next('scene.set', 3)
      peer.send({ type: 'ok', id: third.id, revision: 3 })
      expect(await within(host.sceneSettled(), 'the scene')).to.equal(3)
    })

    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    let deep: object = {}
    for (let level = 0; level < 63; level++) deep = { deep }
    const wrong: [name: string, scene: any][] = [
      ['a list', []],
      ['a text', 'scene'],
      ['undefined', undefined],
      ['NaN in it', { frame: NaN }],
      ['a cycle', cycle],
      ['a bigint', { frame: 1n }],
      ['63 levels', deep],
      ['what toJSON makes no object of', { toJSON: () => 7 }],
      ['exceeds the message limit of the server', { text: 'x'.repeat(8 * 1024 * 1024) }],
    ]
    for (const [name, scene] of wrong) {
      it(`is refused at once for ${name}, and the old one stays`, async () => {
        const { host, peer } = await bench.linked()
        host.setScene({ frame: 1 })
        expect(() => host.setScene(scene)).to.throw(TypeError)
        expect((await peer.next('scene.set')).scene).to.deep.equal({ frame: 1 })
      })
    }

    it('is held against the bound of the server that it is sent to', async () => {
      const server = await bench.serve(limited({ max_message_bytes: 2048 }))
      const host = bench.client(server.url)
      host.setScene({ text: 'x'.repeat(4000) })
      host.start()
      expect(await errorOf(host.sceneSettled())).to.include({ code: 'limit' })
      expect(() => host.setScene({ text: 'x'.repeat(4000) })).to.throw(TypeError, '2048')
      expect((await server.peer()).of('scene.set')).to.deep.equal([])
    })
  })

  describe('audit records', () => {
    it('go in batches, in order, one batch in flight', async () => {
      const { host, peer } = await bench.linked({
        ...limited({ max_batch: 4 }),
        answer: () => null,
      })
      host.record([1, 2, 3, 4, 5].map(id => ({ action: `a${id}` })))
      host.record({ action: 'a6' })
      const first = await peer.next('audit.record')
      await new Promise(setImmediate)
      expect(peer.of('audit.record')).to.have.length(1)
      peer.send({ type: 'ok', id: first.id, count: 4 })
      const second = await peer.next('audit.record', 2)
      const actions = [first, second].map(({ records }) => records.map((r: Message) => r.action))
      expect(actions).to.deep.equal([
        ['a1', 'a2', 'a3', 'a4'],
        ['a5', 'a6'],
      ])
    })

    it('wait for a server, a thousand of them; the oldest go and are counted', async () => {
      const server = await bench.serve({ welcome: { ...welcome, heartbeat_ms: 100 } })
      const host = bench.client(server.url)
      for (let id = 1; id <= 1250; id++) host.record({ action: `a${id}` })
      host.start()
      const peer = await server.peer()
      await peer.next('audit.record', 10)
      const taken = peer.of('audit.record').flatMap(({ records }) => records)
      expect([taken.length, taken[0].action, taken.at(-1).action]).to.deep.equal([
        1000,
        'a251',
        'a1250',
      ])
      expect((await peer.next('heartbeat', 2)).dropped).to.deep.equal({ audit: 250, events: 0 })
    })

    it('in flight when the link was lost are sent again', async () => {
      const { server, host, peer } = await bench.linked({ answer: () => null })
      host.record({ action: 'file.save' })
      await peer.next('audit.record')
      host.record({ action: 'file.close' })
      peer.socket.terminate()
      const { records } = await (await server.peer(2)).next('audit.record')
      expect(records).to.deep.equal([{ action: 'file.save' }, { action: 'file.close' }])
    })

    it('that the server does not take cost nothing but themselves', async () => {
      const { host, peer } = await bench.linked({ answer: () => null })
      const isBad = ({ action }: Message) => action === 'bad'
      peer.answer = ({ id, type, records }) => {
        if (type !== 'audit.record' || !records.some(isBad)) return {}
        peer.send({ type: 'error', id, code: 'invalid', message: '/records/1', retryable: false })
        return null
      }
      host.record([{ action: 'one' }, { action: 'bad' }, { action: 'two' }, { action: 'three' }])
      await peer.next('audit.record', 5)
      const taken = peer.of('audit.record').flatMap(({ records }) => records)
      expect(taken.filter(record => !isBad(record)).slice(-3)).to.deep.equal([
        { action: 'one' },
        { action: 'two' },
        { action: 'three' },
      ])
      await peer.until(() => host.status.lastError !== null, 'the report').catch(() => {})
      expect(host.status.lastError).to.match(/an audit record was refused/)
    })

    it('are refused at once when they are none, and then none of them is sent', async () => {
      const { host, peer } = await bench.linked()
      const records = [{ action: 'good' }, { action: 'bad', params: NaN }]
      expect(() => host.record(records)).to.throw(TypeError, 'NaN')
      expect(() => host.record({ action: 'x'.repeat(2 ** 20) })).to.throw(TypeError, 'bytes')
      host.record({ action: 'last' })
      expect((await peer.next('audit.record')).records).to.deep.equal([{ action: 'last' }])
    })
  })

  describe('session events', () => {
    it('go to their buffer, which is opened before and closed after them', async () => {
      const { host, peer } = await bench.linked()
      host.openEvents('console', { maxlen: 2000, maxMessageBytes: 8192 })
      host.log('console', { source: 'a', stream: 'stdout', message: 'one' })
      host.log('job-1', { source: 'a', stream: 'stdout', message: 'two' })
      host.log('console', { source: 'a', stream: 'stdout', message: 'three' })
      host.closeEvents('console')
      await peer.next('events.close')
      const told = peer.messages.slice(1).map(({ id: _, ...message }) => message)
      const event = (message: string) => ({ source: 'a', stream: 'stdout', message })
      const console = { session_id: 'console' }
      expect(told.filter(({ session_id: id }) => id === 'console')).to.deep.equal([
        { type: 'events.open', ...console, maxlen: 2000, max_message_bytes: 8192 },
        { type: 'events.append', ...console, events: [event('one'), event('three')] },
        { type: 'events.close', ...console },
      ])
      expect((await peer.next('events.append', 2)).events).to.deep.equal([event('two')])
    })

    it('take wrong arguments for a TypeError, and too many buffers for a limit', async () => {
      const { host } = await bench.linked()
      const event = { source: 'a', stream: 'b', message: 'c' }
      for (const id of ['', '..', 'a/b', 'x'.repeat(129)]) {
        expect(() => host.log(id, event), id).to.throw(TypeError)
      }
      expect(() => host.openEvents('a', { maxlen: 0 })).to.throw(TypeError)
      expect(() => host.openEvents('a', { maxMessageBytes: 65_537 })).to.throw(TypeError)
      for (let id = 0; id < 100; id++) host.openEvents(`s${id}`)
      host.openEvents('s5')
      expect(() => host.openEvents('one-more')).to.throw('100 event buffers')
      host.closeEvents('s5')
      host.openEvents('one-more')
    })
  })
})
