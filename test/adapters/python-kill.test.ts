import { expect } from 'chai'
import fc from 'fast-check'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Events, RawSession } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { Cable } from '../helpers/cable.ts'
import { replay } from '../properties/replay.ts'
import { needPython, PythonApp } from './python-driver.ts'

const token = 'a-token-that-outlives-the-server'
const rounds = 4
const budgetMs = 60_000

const members = { frame: 1, step: 0 }
const text = (id: string, step: number) => JSON.stringify({ id, step, pad: 'x'.repeat(500) })
const ids = Array.from({ length: 1000 }, (_, at) => `Object.${at}`)
const large = Object.fromEntries(ids.map(id => [id, text(id, 0)]))
const largeBytes = Object.values(large).join().length

interface Model {
  step: number
  objects: Record<string, string>
}

/** Each patch changes the first object, removes one and adds one. */
const patchOf = (step: number) => ({
  [ids[0]!]: text(ids[0]!, step),
  [ids[step]!]: null,
  [`New.${step}`]: text(`New.${step}`, step),
})

function patched({ objects }: Model, step: number): Model {
  const entries = Object.entries({ ...objects, ...patchOf(step) })
  const there = entries.filter((entry): entry is [string, string] => entry[1] !== null)
  return { step, objects: Object.fromEntries(there) }
}

const sceneOf = ({ step, objects }: Model) => ({
  ...members,
  step,
  objects: Object.values(objects).map(each => JSON.parse(each)),
})

const whole: Model = { step: 0, objects: large }
const models = [whole]
for (let step = 1; step <= 200; step++) models.push(patched(models.at(-1)!, step))

describe('the Python link beside a real serve, killed', () => {
  let registryDir: string
  let server: ServeProcess
  let wire: Cable
  let app: PythonApp
  let client: RawSession
  let stream: Events

  before(async function () {
    needPython(this)
    registryDir = await mkdtemp(join(tmpdir(), 'python-kill-'))
    wire = await Cable.open()
    await serve()
  })
  after(async () => {
    await app?.kill()
    wire?.close()
    await server?.stop()
    if (registryDir !== undefined) await rm(registryDir, { recursive: true, force: true })
  })

  async function serve(): Promise<void> {
    server = await startServeProcess({ registryDir, env: { SERVICE_HOST_TOKEN: token } })
    wire.target = server.port
    client = await RawSession.open(server.url)
    stream = await client.listen()
    await client.call('resources/subscribe', { uri: 'scene://current' })
  }

  /** A new run of the application, linked. */
  async function run(): Promise<void> {
    wire.mend()
    app = new PythonApp()
    await app.link({ url: `http://127.0.0.1:${wire.port}/host`, token })
    await app.untilState('connected')
  }

  async function tellWhole(): Promise<void> {
    await app.call('patch_scene', members, large, true)
    expect((await app.call('flush', 10)).result, app.output).to.equal(true)
  }

  async function read(): Promise<{ scene: any; facts: any }> {
    const { result } = await client.call('resources/read', { uri: 'scene://current' })
    const [{ text, _meta }] = result.contents
    return { scene: JSON.parse(text), facts: _meta['service-cli/scene'] }
  }

  /** What clients read once they were told that the application is gone. */
  async function readWhenGone(): Promise<{ scene: any; facts: any }> {
    for (;;) {
      const seen = stream.updates.length
      const now = await read()
      if (now.facts.application?.connected === false) return now
      await stream.until(() => stream.updates.length > seen, 'an update of the scene')
    }
  }

  const small = { objects: [{ id: 'Cube' }] }
  const anyShare = fc.double({ min: 0, max: 1, noNaN: true })

  it('keeps a whole scene when the application dies in one or among patches of it', async () => {
    await fc.assert(
      fc.asyncProperty(anyShare, fc.boolean(), async (share, isPatched) => {
        await run()
        if (isPatched) await tellWhole()
        else {
          await app.call('set_scene', small)
          expect((await app.call('flush', 10)).result).to.equal(true)
        }
        const { revision } = (await read()).facts
        const bytes = 1 + Math.floor(share * (isPatched ? 100_000 : largeBytes))
        const cut = wire.cutAfter(bytes, () => void app.kill())
        if (!isPatched) void app.call('patch_scene', members, large, true).catch(() => {})
        for (let step = 1; isPatched && step < models.length; step++) {
          void app.call('patch_scene', { step }, patchOf(step)).catch(() => {})
        }
        await Promise.all([cut, app.exited])
        const { scene, facts } = await readWhenGone()
        if (isPatched) expect(scene).to.deep.equal(sceneOf(models[scene.step]!))
        else expect([scene, facts.revision]).to.deep.equal([small, revision])
        await run()
        await tellWhole()
        expect((await read()).scene).to.deep.equal(sceneOf(whole))
        await app.kill()
      }),
      replay(rounds, budgetMs),
    )
  }).timeout(budgetMs)

  it('tells the whole scene again to a server that died in a scene or among patches', async () => {
    await run()
    await fc.assert(
      fc.asyncProperty(anyShare, fc.boolean(), async (share, isPatched) => {
        wire.mend()
        if (isPatched) await tellWhole()
        // What the server has is not sent again.
        else await app.call('patch_scene', members, {}, true)
        await app.call('flush', 10)
        let isCut = false
        const bytes = 1 + Math.floor(share * (isPatched ? 30_000 : largeBytes))
        const cut = wire.cutAfter(bytes, () => {
          isCut = true
          server.signal('SIGKILL')
        })
        if (!isPatched) await app.call('patch_scene', members, large, true)
        let step = 0
        while (isPatched && !isCut && step < models.length - 1) {
          step++
          await app.call('patch_scene', { step }, patchOf(step))
          // Patches that wait are sent as one: later ones are sent apart, until there are enough.
          if (step > 50) await app.call('flush', 0.1)
        }
        const last = models[step]!
        await Promise.all([cut, server.exited])
        wire.mend()
        await serve()
        await app.untilState('connected')
        expect((await app.call('flush', 10)).result, app.output).to.equal(true)
        const { scene, facts } = await read()
        expect(scene).to.deep.equal(sceneOf(last))
        expect(facts.application.connected).to.equal(true)
      }),
      replay(rounds, budgetMs),
    )
    expect(app.output).not.to.contain('Traceback')
  }).timeout(budgetMs)
})
