import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { pictureFacts } from '../../src/server/capture/pictures.ts'
import type { SdkClient, Updates } from '../clients/client-face.ts'
import { readJson } from '../clients/scenario.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../helpers/until.ts'
import { type LinkedBlender, needWindowedBlender, startLinkedBlender } from '../helpers/blender.ts'
import { connectWatcher } from './watcher.ts'

const uri = 'capture://current_window'
const viewport = 'capture://viewport'
const waitMs = 30_000

describe('the picture that Blender takes of itself', function () {
  this.timeout(120_000)
  let linked: LinkedBlender
  let client: SdkClient
  let updates: Updates

  before(async function () {
    needWindowedBlender(this, 'compare', 'xlogo')
    linked = await startLinkedBlender()
    ;({ client, updates } = await connectWatcher(linked.serving.url))
  })
  after(async () => {
    await client?.close()
    await linked?.stop()
  })

  const tell = (word: string) => linked.blender.tell(word)
  const ask = (word: string) => linked.blender.ask(word)

  const isListed = async () =>
    (await client.listResources()).resources.some(resource => resource.uri === uri)
  const hasScene = async () =>
    (await readJson(client, 'scene://current'))['schema'] === 'dcc-scene/1'

  async function read(of = uri): Promise<Buffer> {
    // The server shows a finished picture again for 250 ms.
    await delay(300)
    const [content] = (await client.readResource({ uri: of })).contents
    return Buffer.from(content?.blob ?? '', 'base64')
  }
  async function failure(query = ''): Promise<{ code: number; data?: any } | null> {
    return client.readResource({ uri: uri + query }).then(
      () => null,
      error => error,
    )
  }

  const sizeOf = (png: Buffer) => {
    const { mimeType, ...size } = pictureFacts(png) ?? expect.fail('no picture')
    expect(mimeType).to.equal('image/png')
    return size
  }
  const save = async (name: string, png: Buffer) => {
    const path = join(linked.addon.folder, name)
    await writeFile(path, png)
    return path
  }
  /** Pixels in which two pictures differ by more than the share of the whole scale. */
  async function difference(
    one: Buffer | string,
    other: Buffer | string,
    share = '0%',
  ): Promise<number> {
    const paths = await Promise.all(
      [one, other].map((each, at) =>
        typeof each === 'string' ? each : save(`compared-${at}.png`, each),
      ),
    )
    const { stderr } = spawnSync('compare', ['-metric', 'AE', '-fuzz', share, ...paths, 'null:'])
    const pixels = Number(String(stderr).split(' ')[0])
    if (Number.isNaN(pixels)) throw new Error(`compare: ${stderr}`)
    return pixels
  }
  const outside = () => join(linked.addon.folder, 'outside.png')
  /** Until Blender has drawn what changed, and nothing else changes. */
  async function steady(picture = uri): Promise<Buffer> {
    let last = await read(picture)
    await until(
      async () => {
        const before = last
        last = await read(picture)
        return (await difference(before, last)) === 0
      },
      'a picture that stays the same',
      waitMs,
    )
    return last
  }

  /** What the graphics card gives back is rounded in another way than what it shows. */
  const oneShade = '0.5%'

  it('is what somebody else sees of the window, each pixel within one shade of 256', async () => {
    await until(isListed, 'the picture in the list', waitMs)
    await until(
      async () => {
        const own = await steady()
        await tell('outside')
        return (await difference(own, outside(), oneShade)) === 0
      },
      'the same picture from inside and outside',
      waitMs,
    )
  })

  it('can be of the 3D view alone, drawn anew: a moved object is at its new place', async () => {
    const before = await steady(viewport)
    expect(sizeOf(before).width).to.be.below(sizeOf(await read()).width)
    await tell('move')
    await until(
      async () => (await difference(before, await read(viewport))) > 500,
      'the cube at its new place',
      waitMs,
    )
    await until(hasScene, 'the scene', waitMs)
  })

  const shot = async (query: string): Promise<Buffer> => {
    await delay(300)
    const uri = `capture://viewport?max_width=400&${query}`
    const [content] = (await client.readResource({ uri })).contents
    return Buffer.from(content?.blob ?? '', 'base64')
  }
  const shots = ['camera=Camera', 'of=Cube', 'of=Cube&view=top', 'of=Cube,Light&view=front']

  it('can be from where the reader says: the same wherever the person looks from', async () => {
    const traces = await ask('traces')
    const before = []
    for (const query of shots) before.push(await shot(query))
    expect(await ask('traces')).to.deep.equal(traces)
    await tell('orbit')
    for (const [at, query] of shots.entries()) {
      const again = await shot(query)
      expect(await difference(before[at] ?? '', again), query).to.equal(0)
      const others = before.filter((_, other) => other !== at)
      for (const other of others) {
        const isOther = sizeOf(other).height !== sizeOf(again).height
        expect(isOther || (await difference(other, again)) > 500, query).to.equal(true)
      }
    }
    await tell('move')
    expect(await difference(before[0] ?? '', await shot('camera=Camera'))).to.be.above(100)
    await tell('move_back')
  })

  it('says which camera or object there is not', async () => {
    for (const [query, name] of [
      ['camera=Cube', 'Cube is no camera'],
      ['of=Nothing', 'no object Nothing'],
    ]) {
      const error = await client.readResource({ uri: `capture://viewport?${query}` }).then(
        () => null,
        (thrown: any) => thrown,
      )
      expect(error.data).to.include({ reason: 'not_found' })
      expect(error.message).to.include(name)
    }
  })

  it('is the same when another window covers Blender', async () => {
    const free = await steady()
    const freeView = await steady(viewport)
    await tell('cover')
    try {
      await tell('outside')
      expect(await difference(free, outside()), 'it is covered').to.be.above(10_000)
      expect(await difference(free, await read())).to.equal(0)
      expect(await difference(freeView, await read(viewport))).to.equal(0)
    } finally {
      await tell('uncover')
    }
  })

  it('leaves no trace in the file, in Blender, in the scene or in the audit', async () => {
    await steady()
    const traces = await ask('traces')
    const revision = async () => (await readJson(client, 'scene://delta'))['revision']
    const count = async () =>
      ((await readJson(client, 'audit://recent?limit=500')) as any).entries.length
    const before = [await revision(), await count(), updates.count('scene://current')]
    for (const picture of [uri, viewport]) {
      await read(picture)
      await read(`${picture}?max_width=99`)
    }
    expect(await ask('traces')).to.deep.equal(traces)
    expect(traces).to.deep.include({ files: [] })
    expect([await revision(), await count(), updates.count('scene://current')]).to.deep.equal(
      before,
    )
  })

  it('can be taken while a tool waits for the mouse', async () => {
    await tell('modal')
    for (const picture of [uri, viewport, `${uri}?max_width=200`]) {
      expect(sizeOf(await read(picture)).width).to.be.above(100)
    }
    await tell('press_escape')
  })

  it('shows the person when a client last got one', async () => {
    const pictured = (): Promise<{ at: number; lines: string[] }> => ask('pictured')
    for (const picture of [uri, viewport, `${viewport}?of=Cube`]) {
      const before = Date.now()
      await read(picture)
      await until(async () => (await pictured()).at >= before, 'the time of the picture', waitMs)
      const { at, lines } = await pictured()
      expect(at).to.be.at.most(Date.now())
      expect(lines).to.deep.equal([`Picture taken ${new Date(at).toTimeString().slice(0, 8)}`])
    }
  })

  it('is denied in every way while the person does not share it', async () => {
    await tell('share_picture off')
    await until(async () => !(await isListed()), 'its going', waitMs)
    expect(await failure()).to.include({ code: -32002 })
    await tell('share_picture on')
    await until(isListed, 'its coming back', waitMs)
    expect(sizeOf(await read()).width).to.be.above(100)
  })

  it('is not taken while Blender renders', async () => {
    await tell('render_long')
    await until(() => ask('is_rendering'), 'the render', waitMs)
    // Until the picture before the render, which the server shows for 250 ms, is forgotten.
    let failed: Awaited<ReturnType<typeof failure>> = null
    await until(async () => (failed = await failure()) !== null, 'a refusal', waitMs)
    expect(await ask('is_rendering'), 'the render lasts').to.equal(true)
    expect(failed).to.have.property('data').that.includes({ reason: 'host_busy' })
    await tell('press_escape')
    await until(async () => !(await ask('is_rendering')), 'its end', waitMs)
    // Else Blender remembers the escape until it ends, with exit code 1.
    await tell('render')
    await until(async () => (await failure()) === null, 'a picture', waitMs)
  })

  it('is gone with the link', async () => {
    await tell('disconnect')
    await until(async () => !(await isListed()), 'its going', waitMs)
  })
})
