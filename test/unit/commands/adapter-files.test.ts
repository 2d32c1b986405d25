import { expect } from 'chai'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readBlenderAddon } from '../../../src/commands/adapter/adapter-files.ts'
import { newFolder } from '../../helpers/cleanup.ts'

describe('readBlenderAddon', () => {
  it('is every file of the add-on and the one client, without what others leave behind', async () => {
    const adapters = newFolder()
    const addon = (path: string) => `blender/service_cli_link/${path}`
    const shipped = ['__init__.py', 'scene/collect.py'].map(addon)
    const left = ['__pycache__/a.pyc', 'scene/__pycache__/x', '.DS_Store', '.git/x', 'a.pyo']
    const client = 'python/service_host_link/__init__.py'
    for (const path of [...shipped, ...left.map(addon), client, 'secret']) {
      await mkdir(dirname(join(adapters, path)), { recursive: true })
      await writeFile(join(adapters, path), path)
    }
    await symlink(join(adapters, 'secret'), join(adapters, addon('link.py')))
    await symlink(join(adapters, 'python'), join(adapters, addon('folder')))
    const files = await readBlenderAddon(adapters)
    const found = files.map(({ path, bytes }) => [path, String(bytes)])
    expect(Object.fromEntries(found)).to.deep.equal({
      '__init__.py': shipped[0],
      'scene/collect.py': shipped[1],
      'service_host_link/__init__.py': client,
    })
  })
})
