import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Logger } from '../../../src/lib/util/logger.ts'
import { SceneFile } from '../../../src/server/host/scene-file.ts'
import { SceneState } from '../../../src/server/resources/scene/state.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { defaultBounds } from '../../helpers/bounds.ts'

/** Grows, and lets a test wait until it is long enough. */
class Record<Item> {
  readonly items: Item[] = []
  #wake: () => void = () => {}

  add(item: Item): void {
    this.items.push(item)
    this.#wake()
  }

  async length(count: number): Promise<Item[]> {
    while (this.items.length < count) await new Promise<void>(resolve => (this.#wake = resolve))
    return this.items
  }
}

describe('SceneFile', () => {
  let base: string
  let path: string
  let scenes: Record<object | null>
  let warnings: Record<string>
  let watcher: { stop(): Promise<void> } | undefined

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'scene-file-'))
    path = join(base, 'folder', 'scene.json')
    await mkdir(join(base, 'folder'))
    scenes = new Record()
    warnings = new Record()
  })
  afterEach(async () => {
    await watcher?.stop()
    await rm(base, { recursive: true, force: true })
  })

  function watch(): void {
    const log: Logger = {
      debug: () => {},
      info: () => {},
      warn: (_fields, message) => warnings.add(message ?? ''),
      error: () => {},
    }
    const maxBytes = 1000
    const scene = new SceneState({ ...defaultBounds, maxMessageBytes: maxBytes })
    const setText = (json: string) => {
      const revision = scene.setText(json)
      scenes.add(JSON.parse(json))
      return revision
    }
    watcher = new SceneFile({ path, scene: { setText, isLive: false }, maxBytes, log })
  }
  const replace = async (text: string | Buffer) => {
    await writeFile(`${path}.new`, text)
    await rename(`${path}.new`, path)
  }

  const wrong: [what: string, content: string | Buffer, message: string][] = [
    ['half-written', '{"n":', 'not valid JSON'],
    ['empty', '', 'it is empty'],
    ['an array', '[]', 'must be a JSON object, or null'],
    ['too large', JSON.stringify({ n: 'x'.repeat(1000) }), 'larger than 1000 bytes'],
    ['too deep', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'deeper than 64'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'not valid UTF-8'],
  ]
  for (const [what, content, message] of wrong) {
    it(`keeps the scene while the file is ${what}, and says so once`, async () => {
      await writeFile(path, '{"n":1}')
      watch()
      await scenes.length(1)
      await replace(content)
      const [warning] = await warnings.length(1)
      expect(warning).to.contain(message)
      await replace(content)
      await replace('{"n":2}')
      await scenes.length(2)
      expect(scenes.items).to.deep.equal([{ n: 1 }, { n: 2 }])
      expect(warnings.items).to.have.length(1)
    })
  }

  it('says the same again only after the file was right', async () => {
    await writeFile(path, '{"n":')
    watch()
    await warnings.length(1)
    await writeFile(path, '{"nn":')
    // Time enough to be looked at twice; nothing is to come of it.
    await new Promise(resolve => setTimeout(resolve, 100))
    await writeFile(path, '')
    await warnings.length(2)
    await replace('{"n":1}')
    await scenes.length(1)
    await writeFile(path, '{"n":')
    await warnings.length(3)
    const said = warnings.items.map(text => /not valid JSON|empty/.exec(text)?.[0])
    expect(said).to.deep.equal(['not valid JSON', 'empty', 'not valid JSON'])
  })

  it('waits for the folder to be made, and watches it when it is made anew', async () => {
    await rm(join(base, 'folder'), { recursive: true })
    watch()
    for (let n = 1; n <= 2; n++) {
      await mkdir(join(base, 'folder'))
      await writeFile(path, `{"n":${n}}`)
      await scenes.length(n)
      await rm(join(base, 'folder'), { recursive: true })
    }
    expect(scenes.items).to.deep.equal([{ n: 1 }, { n: 2 }])
  })

  it('is not held up by a named pipe', async function () {
    if (process.platform === 'win32')
      skipBecause(this, 'owners, modes and links need a POSIX system')
    execFileSync('mkfifo', [path])
    watch()
    expect((await warnings.length(1))[0]).to.contain('not a regular file')
    await replace('{"n":1}')
    await scenes.length(1)
  })

  it('touches nothing after stop', async () => {
    await writeFile(path, '{"n":1}')
    watch()
    await watcher?.stop()
    const { length } = scenes.items
    await truncate(path)
    await replace('{"n":2}')
    // Ten times the interval: no event tells that nothing happens.
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(scenes.items).to.have.length(length)
  })
})
