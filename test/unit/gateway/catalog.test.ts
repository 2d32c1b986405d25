import { readFileSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { Catalog } from '../../../src/server/gateway/catalog.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { failureOf } from '../../helpers/failure.ts'

describe('a catalog', () => {
  let folder: string
  let path: string
  beforeEach(() => {
    folder = newFolder()
    path = join(folder, 'catalog.json')
  })

  const file = (...entries: unknown[]) => JSON.stringify({ schema_version: 1, entries })
  const rig = { name: 'rig', description: 'Rigs.' }
  const namesIn = (entries: Catalog['entries']) => entries.map(({ name }) => name).join(' ')

  /** As an editor does: readers see the old file or the new one. */
  async function replace(text: string): Promise<void> {
    await writeFile(`${path}.new`, text)
    await rename(`${path}.new`, path)
  }

  const refusals: [what: string, text: string | null, reason: string][] = [
    ['is not there', null, 'it cannot be read: no such file or directory'],
    ['is empty', '', 'it is empty'],
    ['is no JSON', '[1,]', 'it is not valid JSON'],
    ['is no catalog', '{}', 'schema_version'],
    ['is too large', 'x'.repeat(2 ** 20 + 1), 'it is larger than 1048576 bytes'],
    ['has an entry without a name', file(rig, { description: 'd' }), 'entries.1.name'],
    ['has a name with a way up', file({ ...rig, name: '../a' }), 'entries.0.name: must be letters'],
    ['has a name twice', file(rig, rig), 'entries: two have one name'],
    [
      'has a script for a URL',
      file({ ...rig, url: 'javascript:alert(1)' }),
      'entries.0.url: must be an http or https URL',
    ],
  ]
  for (const [what, text, reason] of refusals) {
    it(`is refused at the start when its file ${what}`, async () => {
      if (text !== null) await writeFile(path, text)
      const error = await failureOf(() => Catalog.open(path))
      expect(error).to.include({ code: 'config_invalid' })
      expect(error.message).to.include(path).and.include(reason)
    })
  }

  it('is read again when the file changed, and keeps its entries while that is unusable', async () => {
    await replace(`\ufeff${file(rig)}`)
    const catalog = await Catalog.open(path)
    expect(namesIn(catalog.entries)).to.equal('rig')
    const states: [change: () => Promise<void>, names: string, problem: string | null][] = [
      [() => replace(file(rig, { ...rig, name: 'b' })), 'rig b', null],
      [() => replace('{"schema_version":1}'), 'rig b', 'entries'],
      [() => rm(path), 'rig b', 'it cannot be read: no such file or directory'],
      [() => replace(file({ ...rig, name: 'c' })), 'c', null],
    ]
    for (const [change, names, problem] of states) {
      await change()
      await catalog.refresh()
      expect(namesIn(catalog.entries)).to.equal(names)
      if (problem === null) expect(catalog.problem).to.equal(null)
      else expect(catalog.problem).to.include(problem)
    }
  })

  it('finds entries by words in name, application, tags and description', async () => {
    const cloth = { name: 'cloth', description: 'Simulation', tags: ['fx'], dcc: ['Houdini'] }
    const paint = { ...rig, name: 'paint', cost: 3, targets: [{ kind: 'dcc', id: 'maya' }] }
    await writeFile(path, file(rig, cloth, paint))
    const catalog = await Catalog.open(path)
    const found = (query: string) => namesIn(catalog.search(query))
    expect(found('  ')).to.equal('rig cloth paint')
    expect(found('RIG')).to.equal('rig paint')
    expect(found('maya rigs')).to.equal('paint')
    expect(catalog.search('maya')).to.deep.equal([paint])
    expect(found('houd fx')).to.equal('cloth')
    expect(found('imul nowhere')).to.equal('')
  })

  it('comes with this package, whose adapters it lists', async () => {
    const { entries } = await Catalog.open()
    const adapter = (name: string) =>
      readFileSync(new URL(`../../../adapters/${name}`, import.meta.url), 'utf8')
    const manifest = adapter('blender/service_cli_link/blender_manifest.toml')
    const module = adapter('python/service_host_link/__init__.py')
    expect(Object.fromEntries(entries.map(each => [each.name, each.version]))).to.deep.equal({
      'service-cli-blender': /^version = "(.+)"$/m.exec(manifest)?.[1],
      'service-cli-python': /^__version__ = "(.+)"$/m.exec(module)?.[1],
    })
  })

  it('is as docs/gateway.md shows it', async () => {
    const docs = readFileSync(new URL('../../../docs/gateway.md', import.meta.url), 'utf8')
    await writeFile(path, /^## Catalog$.*?^```json\n(.*?)^```$/ms.exec(docs)?.[1] ?? '')
    expect(namesIn((await Catalog.open(path)).entries)).to.equal('rig-tools')
  })
})
