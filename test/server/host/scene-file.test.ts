import { mkdtemp, open, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { LinkClient } from '../../helpers/link.ts'
import { type Events, RawSession } from '../../helpers/mcp.ts'
import { until } from '../../helpers/until.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

describe('serve --scene-file', () => {
  let folder: string
  let file: string
  let serve: RunningServe
  let session: RawSession
  let events: Events

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'scene-file-'))
    file = join(folder, 'scene.json')
    const bounds = ['--bound=sceneFilePollMs=200', '--limit=maxMessageBytes=100000']
    const flags = ['--scene-file', file, ...bounds]
    serve = await serveInProcess({ flags })
    session = await RawSession.open(serve.url)
    await session.call('resources/subscribe', { uri: 'scene://current' })
    events = await session.listen()
  })

  afterEach(async () => {
    events.close()
    await serve.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const scene = () => session.readJson('scene://current')
  const told = () => events.updates.length
  /** The client is told, and what it then reads is the new scene: in this order, always. */
  async function expectPushed(before: number, expected: object): Promise<void> {
    await events.until(() => told() > before)
    expect(await scene()).to.deep.include(expected)
  }
  const warnings = () =>
    serve
      .output()
      .stderr.split('\n')
      .filter(line => line.includes('"level":"warn"'))

  async function replace(text: string): Promise<void> {
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
  }

  it('pauses while a connected application sends the scene, says so once, and counts again', async () => {
    await writeFile(file, '{"frame":1}')
    await expectPushed(0, { frame: 1 })
    const app = await LinkClient.connect(serve)
    await app.done({ type: 'scene.set', scene: { live: 1 } })
    for (const live of [2, 3]) {
      await replace(`{"frame":${live}}`)
      await app.done({ type: 'scene.set', scene: { live } })
      expect(await scene()).to.deep.equal({ live })
    }
    const said = () => warnings().filter(line => line.includes('scene file is paused'))
    await until(async () => said().length > 0, 'the log says so')
    const before = told()
    await app.bye()
    await events.until(() => told() > before)
    await until(async () => (await scene()).frame === 3, 'the scene of the file')
    expect(said()).to.have.length(1)
  })

  it('serves the placeholder until the file is there', async () => {
    expect(await scene()).to.include({ status: 'no_snapshot' })
    await writeFile(file, '{"frame":1}')
    await expectPushed(0, { frame: 1 })
  })

  it('pushes what replaces the file, each time', async () => {
    for (let frame = 1; frame <= 5; frame++) {
      const before = told()
      await replace(JSON.stringify({ frame }))
      await expectPushed(before, { frame })
    }
    expect(warnings()).to.deep.equal([])
  })

  it('keeps the old scene while the file is half-written, says so once, then takes the new', async () => {
    await replace('{"frame":1}')
    await expectPushed(0, { frame: 1 })
    const before = told()
    const writer = await open(file, 'w')
    await writer.write('{"frame":2,"obj')
    await until(() => warnings().length === 1, 'the half is reported')
    expect(warnings()[0])
      .to.contain(file)
      .and.to.match(/not valid JSON/)
    expect(await scene()).to.deep.equal({ frame: 1 })
    expect(told()).to.equal(before)
    await writer.write('ects":[]}')
    await writer.close()
    await expectPushed(before, { frame: 2, objects: [] })
    expect(warnings()).to.have.lengthOf(1)
  })

  it('keeps the old scene when the file goes, and takes the next one', async () => {
    await replace('{"frame":1}')
    await expectPushed(0, { frame: 1 })
    const before = told()
    await rm(file)
    await replace('{"frame":1,"again":true}')
    await expectPushed(before, { again: true })
    await rm(file)
    expect(await scene()).to.include({ frame: 1 })
  })

  it('takes null for no scene', async () => {
    await replace('{"frame":1}')
    await expectPushed(0, { frame: 1 })
    const before = told()
    await replace('null')
    await expectPushed(before, { status: 'no_snapshot' })
  })

  const wrong: [string, string | Buffer, RegExp][] = [
    ['an array', '[1]', /must be a JSON object/],
    ['a text', '"scene"', /must be a JSON object/],
    ['NaN', '{"x":NaN}', /not valid JSON/],
    ['too deep', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, /deeper than 64/],
    ['too large', `{"x":"${'x'.repeat(100_000)}"}`, /larger than/],
    ['no UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), /UTF-8/],
  ]

  it('keeps the old scene when the file is wrong, says each thing once, then takes the next', async () => {
    await replace('{"frame":0}')
    await expectPushed(0, { frame: 0 })
    for (const [index, [title, content, problem]] of wrong.entries()) {
      const before = told()
      await writeFile(`${file}.new`, content)
      await rename(`${file}.new`, file)
      await until(() => warnings().length > index, `a warning of ${title}`)
      expect(warnings()).to.have.lengthOf(index + 1)
      expect(warnings()[index]).to.match(problem)
      expect(await scene()).to.deep.equal({ frame: index })
      expect(told()).to.equal(before)
      await replace(JSON.stringify({ frame: index + 1 }))
      await expectPushed(before, { frame: index + 1 })
    }
  })

  it('ends at the last state of a file that changes all the time', async () => {
    for (let frame = 1; frame <= 300; frame++) await replace(JSON.stringify({ frame }))
    await until(async () => (await scene()).frame === 300, 'the last frame')
    expect(warnings()).to.deep.equal([])
  })
})
