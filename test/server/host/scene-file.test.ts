import { open, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { LinkClient } from '../../helpers/link.ts'
import { type Events, RawSession } from '../../helpers/mcp.ts'
import { until } from '../../helpers/until.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { recordOf } from './link-health.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { newFolder } from '../../helpers/cleanup.ts'

const file = join(newFolder(), 'scene.json')

describe('serve --scene-file', () => {
  let serve: RunningServe
  let session: RawSession
  let events: Events

  before(async () => {
    const flags = ['--scene-file', file, '--limit=maxMessageBytes=100000']
    serve = await serveInProcess({ flags })
    session = await RawSession.open(serve.url)
    await session.call('resources/subscribe', { uri: 'scene://current' })
    events = await session.listen()
  })

  const scene = () => session.readJson('scene://current')
  const told = () => events.updates.length
  const warnings = () =>
    serve
      .output()
      .stderr.split('\n')
      .filter(line => line.includes('"level":"warn"'))

  async function replace(text: string): Promise<void> {
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
  }

  /** The client is told, and what it then reads is the new scene: in this order, always. */
  async function expectPushed(act: () => Promise<unknown>, expected: object): Promise<void> {
    const before = told()
    await act()
    await events.until(() => told() > before)
    expect(await scene()).to.deep.include(expected)
  }

  it('serves the placeholder until the file is there, then pushes each change', async () => {
    expect(await scene()).to.include({ status: 'no_snapshot' })
    await expectPushed(() => writeFile(file, '{"frame":1}'), { frame: 1 })
    for (let frame = 2; frame <= 4; frame++) {
      await expectPushed(() => replace(JSON.stringify({ frame })), { frame })
    }
    await expectPushed(() => replace('null'), { status: 'no_snapshot' })
    expect(warnings()).to.have.length(1)
    expect(warnings()[0]).to.contain(file).and.contain('scene file is missing')
  })

  it('keeps the old scene while the file is half-written or gone, and says so once', async () => {
    await expectPushed(() => replace('{"frame":1,"half":false}'), { frame: 1 })
    const [before, sofar] = [told(), warnings().length]
    const writer = await open(file, 'w')
    await writer.write('{"frame":2,"obj')
    await until(() => warnings().length === sofar + 1, 'the half is reported')
    expect(warnings().at(-1)).to.contain(file).and.to.contain('not valid JSON')
    expect(await scene()).to.include({ frame: 1 })
    expect(told()).to.equal(before)
    // `doctor` and the listing of a gateway show it.
    const problem = async () => (await recordOf(serve)).metadata.scene_file
    await until(async () => /not valid JSON/.test(await problem()), 'the record says so')
    const complete = async () => {
      await writer.write('ects":[]}')
      await writer.close()
    }
    await expectPushed(complete, { frame: 2, objects: [] })
    expect(warnings()).to.have.lengthOf(sofar + 1)
    await until(async () => (await problem()) === undefined, 'the record without it')
    await rm(file)
    expect(await scene()).to.include({ frame: 2 })
  })

  it('pauses while a connected application sends the scene, says so once, and counts again', async () => {
    const app = await LinkClient.connect(serve)
    await app.done({ type: 'scene.set', scene: { live: 1 } })
    for (const live of [2, 3]) {
      await replace(`{"frame":${live}}`)
      await app.done({ type: 'scene.set', scene: { live } })
      expect(await scene()).to.deep.equal({ live })
    }
    const said = () => warnings().filter(line => line.includes('scene file is paused'))
    await until(async () => said().length > 0, 'the log says so')
    await app.bye()
    await until(async () => (await scene()).frame === 3, 'the scene of the file')
    expect(said()).to.have.length(1)
  })
})
