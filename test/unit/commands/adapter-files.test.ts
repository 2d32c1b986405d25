import { expect } from 'chai'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { readBlenderAddon } from '../../../src/commands/adapter/adapter-files.ts'

describe('the adapters of the package', () => {
  let adapters: string

  beforeEach(async () => {
    adapters = await mkdtemp(join(tmpdir(), 'adapters-'))
  })
  afterEach(() => rm(adapters, { recursive: true, force: true }))

  async function put(path: string, content: string): Promise<void> {
    const file = join(adapters, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content)
  }
  const addon = (path: string) => `blender/service_cli_link/${path}`

  async function contents(): Promise<Record<string, string>> {
    const files = await readBlenderAddon(adapters)
    return Object.fromEntries(files.map(({ path, bytes }) => [path, Buffer.from(bytes).toString()]))
  }

  it('is every file of the add-on and the one client, without what others leave behind', async () => {
    await put(addon('__init__.py'), 'init')
    await put(addon('scene/collect.py'), 'collect')
    await put(addon('__pycache__/__init__.cpython-311.pyc'), 'x')
    await put(addon('scene/__pycache__/note.txt'), 'x')
    for (const name of ['.DS_Store', '.git/config', 'old.pyc', 'old.pyo']) {
      await put(addon(name), 'x')
    }
    await put('python/service_host_link/__init__.py', 'client')
    await put('secret', 'x')
    await symlink(join(adapters, 'secret'), join(adapters, addon('link.py')))
    await symlink(join(adapters, 'python'), join(adapters, addon('folder')))
    expect(await contents()).to.deep.equal({
      '__init__.py': 'init',
      'scene/collect.py': 'collect',
      'service_host_link/__init__.py': 'client',
    })
  })
})
