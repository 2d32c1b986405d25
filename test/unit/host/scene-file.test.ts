import { execFileSync } from 'node:child_process'
import { mkdir, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { SceneFile } from '../../../src/server/host/scene-file.ts'
import { SceneState } from '../../../src/server/resources/scene/state.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { recordingLog } from '../../helpers/fakes.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { serverDefaults } from '../../../src/server/http/limits.ts'
import { until } from '../../helpers/until.ts'

describe('SceneFile', () => {
  let base: string
  let path: string
  let scenes: (object | null)[]
  let problems: (string | null)[]
  let log: ReturnType<typeof recordingLog>
  let watcher: { stop(): Promise<void> } | undefined

  beforeEach(async () => {
    base = newFolder()
    path = join(base, 'folder', 'scene.json')
    await mkdir(join(base, 'folder'))
    scenes = []
    problems = []
    log = recordingLog()
  })
  afterEach(() => watcher?.stop())

  function watch(): void {
    const maxBytes = 1000
    const scene = new SceneState({ ...serverDefaults, maxMessageBytes: maxBytes })
    const setText = (json: string) => {
      const revision = scene.setText(json)
      scenes.push(JSON.parse(json))
      return revision
    }
    const onProblem = (problem: string | null) => void problems.push(problem)
    const parts = { path, scene: { setText, isLive: false }, maxBytes, log, onProblem }
    watcher = new SceneFile(parts)
  }
  const replace = async (text: string | Buffer) => {
    await writeFile(`${path}.new`, text)
    await rename(`${path}.new`, path)
  }
  const untilScenes = (count: number) => until(() => scenes.length === count, `${count} scenes`)
  const untilTold = (count: number) => until(() => problems.length === count, `${count} problems`)

  const wrong: [what: string, content: string | Buffer, message: string][] = [
    ['half-written', '{"n":', 'not valid JSON'],
    ['empty', '', 'it is empty'],
    ['an array', '[]', 'must be a JSON object, or null'],
    ['too large', JSON.stringify({ n: 'x'.repeat(1000) }), 'larger than 1000 bytes'],
    ['too deep', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'deeper than 64'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'not valid UTF-8'],
  ]
  it('keeps the scene while the file is wrong, says so once, and when it is right again', async () => {
    await writeFile(path, '{"n":0}')
    watch()
    for (const [at, [what, content, message]] of wrong.entries()) {
      await untilScenes(at + 1)
      await replace(content)
      await untilTold(2 * at + 1)
      expect(problems.at(-1), what).to.contain(message)
      await replace(content)
      await replace(`{"n":${at + 1}}`)
      await untilTold(2 * at + 2)
      expect(problems.at(-1)).to.equal(null)
    }
    expect(scenes).to.deep.equal(Array.from({ length: wrong.length + 1 }, (_, n) => ({ n })))
    expect(log.lines.filter(({ level }) => level === 'warn')).to.have.length(wrong.length)
  })

  it('waits for the folder to be made, and watches it when it is made anew', async () => {
    await rm(join(base, 'folder'), { recursive: true })
    watch()
    for (let n = 1; n <= 2; n++) {
      await mkdir(join(base, 'folder'))
      await writeFile(path, `{"n":${n}}`)
      await untilScenes(n)
      await rm(join(base, 'folder'), { recursive: true })
    }
    expect(scenes).to.deep.equal([{ n: 1 }, { n: 2 }])
  })

  it('is not held up by a named pipe', async function () {
    if (process.platform === 'win32') skipBecause(this, 'there are no named pipes on Windows')
    execFileSync('mkfifo', [path])
    watch()
    await untilTold(1)
    expect(problems[0]).to.contain('not a regular file')
    await replace('{"n":1}')
    await untilScenes(1)
  })

  it('touches nothing after stop', async () => {
    await writeFile(path, '{"n":1}')
    watch()
    await watcher?.stop()
    const { length } = scenes
    await truncate(path)
    await replace('{"n":2}')
    // Longer than two looks: no event tells that nothing happens.
    await new Promise(resolve => setTimeout(resolve, 150))
    expect(scenes).to.have.length(length)
  })
})
