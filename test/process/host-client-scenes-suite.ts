import { expect } from 'chai'
import fc from 'fast-check'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { HostClient } from '../../src/host-client.ts'
import { type Events, RawSession } from '../helpers/mcp.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { type RunningServe, startServeProcess } from '../helpers/serve-process.ts'
import { Wire } from '../helpers/wire.ts'
import { replay } from '../properties/replay.ts'

const token = 'a-token-that-outlives-the-server'
/** So small that the scene of 1,000 objects comes in more than a hundred parts. */
const flags = ['--limit', 'maxMessageBytes=6000']
const settings = { flags, env: { SERVICE_HOST_TOKEN: token } }

const prop = (at: number, x = 0) => ({ id: `Prop.${at}`, x, note: 'n'.repeat(600) })
const propsOf = (count: number, x = 0) => Array.from({ length: count }, (_, at) => prop(at, x))

/** Links are cut, and servers killed, in as many rounds. */
export function describePatchedScenes(rounds: number): void {
  describe('HostClient: scenes that are patched', function () {
    const budgetMs = 60_000 + rounds * 10_000
    this.timeout(budgetMs)
    let registryDir: string
    let serve: RunningServe
    let wire: Wire
    let host: HostClient
    let session: RawSession
    let stream: Events

    before(async () => {
      registryDir = await mkdtemp(join(tmpdir(), 'scenes-'))
      wire = await Wire.open()
      await useServer(await serveInProcess({ registryDir, ...settings }))
    })
    beforeEach(startHost)
    afterEach(() => host.stop())
    after(async () => {
      wire.close()
      await serve.stop()
      await rm(registryDir, { recursive: true })
    })

    async function startHost(): Promise<void> {
      host = new HostClient({ app: { dccType: 'paint', mode: 'gui' }, url: wire.url, token })
      host.start()
      await host.connected()
    }
    /** Another client for each round: one whose links are soon lost waits ever longer. */
    async function restartHost(): Promise<void> {
      await host.stop()
      await startHost()
    }

    async function useServer(started: RunningServe): Promise<void> {
      serve = started
      wire.serverPort = serve.port
      session = await RawSession.open(serve.url)
      stream = await session.listen()
      await session.call('resources/subscribe', { uri: 'scene://current' })
    }

    async function read(): Promise<{ text: string; facts: any }> {
      const { result } = await session.call('resources/read', { uri: 'scene://current' })
      const [{ text, _meta }] = result.contents
      return { text, facts: _meta['service-cli/scene'] }
    }

    /** Cuts the link when this share of the scene went through it. */
    const cutAmong = (scene: object, share: number, kill = () => {}) =>
      wire.cutAfter(1 + Math.floor(share * JSON.stringify(scene).length), kill)

    /** Messages are compared as text: a failure that shows 1,000 objects cannot be read. */
    const isEqual = (text: string, scene: object) => text === JSON.stringify(scene)

    const anyShare = fc.double({ min: 0, max: 1, noNaN: true })

    it('send 1,000 objects in parts, and one that changes in 2 KB', async () => {
      const scene = { objects: propsOf(1_000), frame: 1 }
      host.setScene(scene)
      const first = await host.sceneSettled()
      expect(isEqual((await read()).text, scene)).to.equal(true)
      const before = wire.bytes
      host.patchScene({ objects: [prop(0, 7)] })
      expect(await host.sceneSettled()).to.equal(Number(first) + 1)
      expect(wire.bytes - before).to.be.within(600, 2000)
      host.patchScene({ objects: [prop(1_000)], removed: ['Prop.999'] })
      host.patchScene({ members: { frame: 2 } })
      expect(await host.sceneSettled()).to.equal(Number(first) + 2)
      const objects = [prop(0, 7), ...scene.objects.slice(1, -1), prop(1_000)]
      expect(isEqual((await read()).text, { objects, frame: 2 })).to.equal(true)
      const { result } = await session.call('resources/read', {
        uri: `scene://delta?since=${first}`,
      })
      expect(result.contents[0].text.length).to.be.lessThan(4000)
    })

    it('leave the scene before until the last part, and come whole after a lost link', async () => {
      const small = { objects: [prop(0)] }
      const large = { objects: propsOf(1_000, 1) }
      await fc.assert(
        fc.asyncProperty(anyShare, async share => {
          await restartHost()
          host.setScene(small)
          await host.sceneSettled()
          const { revision } = (await read()).facts
          const cut = cutAmong(large, share)
          host.setScene(large)
          await cut
          const gone = await readWhenGone()
          expect(gone.text).to.equal(JSON.stringify(small))
          expect(gone.facts.revision).to.equal(revision)
          wire.mend()
          expect(await host.sceneSettled()).to.equal(revision + 1)
          expect(isEqual((await read()).text, large)).to.equal(true)
        }),
        replay(rounds, budgetMs),
      )
    })

    /** What clients read once they were told that the application is gone. */
    async function readWhenGone(): Promise<{ text: string; facts: any }> {
      for (;;) {
        const seen = stream.updates.length
        const now = await read()
        if (now.facts.application?.connected === false) return now
        await stream.until(() => stream.updates.length > seen, 'an update of the scene')
      }
    }

    it('are refused when they get too large, and stay as they were', async () => {
      host.setScene({ objects: [prop(0)] })
      expect(() => host.patchScene({ objects: [{ id: '' }] })).to.throw(TypeError, '/objects/0')
      const huge = { id: 'Huge', text: 'x'.repeat(65 * 1024 * 1024) }
      expect(() => host.patchScene({ objects: [huge] })).to.throw(TypeError, "server's limit")
      host.setScene({ objects: [1] })
      expect(() => host.patchScene({ unset: ['a'] })).to.throw(TypeError, 'set one first')
      host.setScene({ objects: [prop(0)] })
      host.patchScene({ members: { frame: 3 } })
      await host.sceneSettled()
      expect(JSON.parse((await read()).text)).to.deep.equal({ objects: [prop(0)], frame: 3 })
    })

    it('are, after any changes, what the application has', async () => {
      const id = fc.integer({ min: 0, max: 20 }).map(at => `Prop.${at}`)
      const change = fc.record({
        id,
        kind: fc.constantFrom('set', 'set', 'remove', 'member', 'unset', 'whole'),
        x: fc.integer(),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 30 }), async changes => {
          const model = { objects: new Map<string, object>(), members: new Map<string, unknown>() }
          const scene = () => ({
            note: 'n'.repeat(1000),
            ...Object.fromEntries(model.members),
            objects: [...model.objects.values()],
          })
          host.setScene(scene())
          await host.sceneSettled()
          for (const [at, { id, kind, x }] of changes.entries()) {
            if (kind === 'set' || kind === 'whole') model.objects.set(id, { id, x })
            if (kind === 'remove') model.objects.delete(id)
            if (kind === 'member') model.members.set('frame', x)
            if (kind === 'unset') model.members.delete('frame')
            if (kind === 'set') host.patchScene({ objects: [{ id, x }] })
            if (kind === 'remove') host.patchScene({ removed: [id] })
            if (kind === 'member') host.patchScene({ members: { frame: x } })
            if (kind === 'unset') host.patchScene({ unset: ['frame'] })
            if (kind === 'whole') host.setScene(scene())
            if (at % 3 === 0) await host.sceneSettled()
          }
          await host.sceneSettled()
          expect(JSON.parse((await read()).text)).to.deep.equal(scene())
        }),
        { numRuns: 30 },
      )
    })

    it('arrive whole after the server was killed among the parts', async () => {
      const large = { objects: propsOf(1_000, 1) }
      const startProcess = async () => {
        const started = await startServeProcess({ registryDir, ...settings })
        await useServer(started)
        return started
      }
      await serve.stop()
      let victim = await startProcess()
      await fc.assert(
        fc.asyncProperty(anyShare, async share => {
          await restartHost()
          host.setScene({ objects: [prop(0)] })
          await host.sceneSettled()
          const cut = cutAmong(large, share, () => victim.signal('SIGKILL'))
          host.setScene(large)
          await Promise.all([cut, victim.exited])
          host.patchScene({ objects: [prop(0, 2)] })
          wire.mend()
          victim = await startProcess()
          const settled = host.sceneSettled().then(() => true)
          const last = { objects: [prop(0, 2), ...large.objects.slice(1)] }
          // Until then clients of the new server read of no scene.
          while (!(await Promise.race([settled, setImmediate(false)]))) {
            const { text } = await read()
            expect(JSON.parse(text).status === 'no_snapshot' || isEqual(text, last)).to.equal(true)
          }
          expect(isEqual((await read()).text, last)).to.equal(true)
        }),
        replay(rounds, budgetMs),
      )
    })
  })
}
