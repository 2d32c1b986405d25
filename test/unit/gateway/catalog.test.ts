import { readFileSync } from 'node:fs'
import { mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { CatalogEntry } from '../../../src/server/gateway/catalog/catalog-entry.ts'
import { bundledCatalog, CatalogFile } from '../../../src/server/gateway/catalog/catalog-file.ts'
import type { CatalogState } from '../../../src/server/gateway/catalog/catalog-resources.ts'
import { parseCatalog } from '../../../src/server/gateway/catalog/parse-catalog.ts'
import { rankEntries } from '../../../src/server/gateway/catalog/rank-entries.ts'
import { failureOf } from '../../helpers/failure.ts'
import { ManualTime } from '../resources/manual-time.ts'

describe('the file of a catalog', () => {
  let folder: string
  let path: string
  let time: ManualTime
  let warnings: object[]
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'catalog-'))
    path = join(folder, 'catalog.json')
    time = new ManualTime()
    warnings = []
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const catalogOf = (...names: string[]) =>
    JSON.stringify({ schema_version: 1, entries: names.map(name => ({ name, description: 'd' })) })
  const namesIn = ({ entries }: CatalogState) => entries.map(({ name }) => name)

  const open = () =>
    CatalogFile.open({
      path,
      source: 'file',
      timer: time,
      log: { debug() {}, info() {}, error() {}, warn: fields => warnings.push(fields) },
    })

  /** As an editor does: readers see the old file or the new one. */
  async function replace(text: string): Promise<void> {
    await writeFile(`${path}.new`, text)
    await rename(`${path}.new`, path)
  }

  const refusals: [what: string, write: () => Promise<unknown>, reason: string][] = [
    ['is not there', async () => {}, 'it cannot be read: no such file'],
    ['is empty', () => writeFile(path, ''), 'it is empty'],
    ['is no catalog', () => writeFile(path, '{}'), 'member schema_version: is required'],
    [
      'is too large',
      () => writeFile(path, 'x'.repeat(2 ** 20 + 1)),
      'it is larger than 1048576 bytes',
    ],
  ]
  for (const [what, write, reason] of refusals) {
    it(`is not opened when it ${what}`, async () => {
      await write()
      const error = await failureOf(() => open())
      expect(error).to.include({ code: 'config_invalid' })
      expect(error.message).to.include(path).and.include(reason)
    })
  }

  it('is read again when it changed, and the same state while it says the same', async () => {
    await replace(`\ufeff${catalogOf('a')}`)
    const file = await open()
    const before = file.state
    expect([namesIn(before), before.problem, file.source]).to.deep.equal([['a'], null, 'file'])
    await utimes(path, new Date(0), new Date(0))
    expect(await file.refresh()).to.equal(before)
    await replace(catalogOf('a', 'b'))
    const [first, second] = await Promise.all([file.refresh(), file.refresh()])
    expect(second).to.equal(first)
    expect(namesIn(first)).to.deep.equal(['a', 'b'])
    expect(file.state).to.equal(first)
  })

  it('keeps its entries while it is broken or away, says why, and recovers', async () => {
    await replace(catalogOf('a'))
    const file = await open()
    await replace('{"schema_version":1,"entries":[{"name":"b"}]}')
    for (let again = 0; again < 3; again++) {
      const broken = await file.refresh()
      expect(namesIn(broken)).to.deep.equal(['a'])
      expect(broken.problem).to.equal('entry 1 ("b"): member description: is required')
    }
    expect(warnings).to.have.length(1)
    await rm(path)
    expect(await file.refresh()).to.include({ problem: 'it cannot be read: no such file' })
    await replace(catalogOf('a'))
    expect(await file.refresh()).to.include({ problem: null })
    expect(warnings).to.have.length(2)
  })

  it('tells its follower of each other state, seen by a look or by a reader, until stopped', async () => {
    await replace(catalogOf('a'))
    const file = await open()
    const told: string[][] = []
    let heard = Promise.withResolvers<void>()
    const stop = file.follow((before, now) => {
      told.push([...namesIn(before), ...namesIn(now)])
      heard.resolve()
    })
    const look = async () => {
      heard = Promise.withResolvers()
      time.advance(2000)
      await heard.promise
      // The next look is put on the clock a moment after the follower heard.
      while (time.waiting === 0) await new Promise(setImmediate)
    }
    await replace(catalogOf('b'))
    await look()
    await replace(catalogOf('c'))
    await file.refresh()
    await look()
    await replace(catalogOf('d'))
    time.advance(2000)
    // A look that is under way tells nothing any more.
    stop()
    expect(namesIn(await file.refresh())).to.deep.equal(['d'])
    await new Promise(setImmediate)
    expect(told).to.deep.equal([
      ['a', 'b'],
      ['b', 'c'],
    ])
    expect(time.waiting).to.equal(0)
  })
})

describe('parseCatalog', () => {
  const parse = parseCatalog
  const file = (...entries: unknown[]) => JSON.stringify({ schema_version: 1, entries })
  const ok = { name: 'a', description: 'b' }

  it('takes an entry with every member as it is', () => {
    const full = {
      name: 'rig-tools',
      description: 'Rigs.\nMany of them.',
      dcc: ['maya'],
      targets: [{ kind: 'dcc', id: 'maya' }],
      url: 'https://studio.example/rig',
      tags: ['rig'],
      version: '1.2.3',
      min_core_version: '0.1.0',
      install: {
        type: 'git',
        url: 'https://studio.example/rig.git',
        ref: 'a'.repeat(40),
        sha256: 'b'.repeat(64),
        skillRoots: ['skills'],
        pip_package: 'rig',
        pip_extras: ['fast'],
        python_path: 'src',
        entry_point: 'rig:main',
        instructions_url: 'https://studio.example/how',
        command: ['rig', '--install'],
      },
      package: {
        format: 'composite',
        skills: ['bind'],
        components: [
          { kind: 'skill', id: 'bind', root: 'skills/bind' },
          { kind: 'plug-in', id: 'rig' },
        ],
      },
      maintainer: 'Rigging',
      category: 'rigging',
      policy: { installation: 'manual' },
      requires: { env: ['RIG_HOME'], bins: ['maya'], python: '>=3.9', skills: ['base'] },
      icon: 'https://studio.example/rig.png',
      showcase: ['https://studio.example/rig.mp4'],
      docs: 'https://studio.example/docs',
      license: 'MIT',
    }
    expect(parse(file(full, ok))).to.deep.equal({ ok: true, value: [full, ok] })
    expect(parse('{"schema_version":1,"name":"studio","entries":[]}').ok).to.equal(true)
  })

  it('takes the bundled one, whose adapters are those of this package', () => {
    const result = parse(readFileSync(bundledCatalog, 'utf8'))
    if (!result.ok) throw new Error(result.failure)
    const adapter = (path: string) =>
      readFileSync(new URL(`../../../adapters/${path}`, import.meta.url), 'utf8')
    const manifest = adapter('blender/service_cli_link/blender_manifest.toml')
    const module = adapter('python/service_host_link/__init__.py')
    const listed = result.value.map(({ name, version }) => [name, version])
    expect(Object.fromEntries(listed)).to.deep.equal({
      'service-cli-blender': /^version = "(.+)"$/m.exec(manifest)?.[1],
      'service-cli-python': /^__version__ = "(.+)"$/m.exec(module)?.[1],
    })
  })

  const many = Array.from({ length: 1001 }, (_, at) => ({ ...ok, name: `a${at}` }))
  const wrong: [what: string, text: string, failure: string][] = [
    ['no JSON', '[1,]', 'it is not valid JSON: trailing comma (line 1, column 4)'],
    ['a deep nesting', '['.repeat(20) + ']'.repeat(20), 'it nests more than 16 levels deep'],
    [
      'another version',
      '{"schema_version":2,"entries":[]}',
      'the catalog: member schema_version: must be a whole number from 1 to 1',
    ],
    ['an entry that is none', file(ok, 7), 'entry 2 must be an object'],
    [
      'a name with a way up',
      file({ ...ok, name: '../a' }),
      'entry 1: member name: must be letters, digits, ".", "_" and "-"',
    ],
    ['a name twice', file(ok, ok), 'entry 2 ("a"): member name: is also that of entry 1'],
    [
      'a description that moves the cursor',
      file({ name: 'a', description: 'x\u001b[2J' }),
      'entry 1 ("a"): member description: must not have control characters',
    ],
    ['a text for a list', file({ ...ok, tags: 'x' }), 'entry 1 ("a"): member tags: must be a list'],
    [
      'a script for a URL',
      file({ ...ok, url: 'javascript:alert(1)' }),
      'entry 1 ("a"): member url: must be an http or https URL without user and password',
    ],
    [
      'a URL with a password',
      file({ ...ok, icon: 'https://u:p@x.example/' }),
      'entry 1 ("a"): member icon: must be an http or https URL without user and password',
    ],
    [
      'git without its URL',
      file({ ...ok, install: { type: 'git' } }),
      'entry 1 ("a"): member install.url: is required',
    ],
    ['too many entries', file(...many), 'it has more than 1000 entries'],
    [
      'too many items',
      file({ ...ok, tags: Array.from({ length: 101 }, (_, at) => `t${at}`) }),
      'entry 1 ("a"): member tags: must not have more than 100 items',
    ],
    [
      'a long description',
      file({ ...ok, description: 'x'.repeat(4001) }),
      'entry 1 ("a"): member description: must not be longer than 4000 characters',
    ],
  ]
  for (const [what, text, failure] of wrong) {
    it(`refuses ${what}, naming entry and member`, () => {
      expect(parse(text)).to.deep.equal({ ok: false, failure })
    })
  }
})

describe('rankEntries', () => {
  const entries: CatalogEntry[] = [
    { name: 'rig-tools', description: 'Build rigs for characters', dcc: ['maya'], tags: ['rig'] },
    { name: 'maya-bridge', description: 'Talks to the application', dcc: ['maya'] },
    { name: 'cloth', description: 'Simulation; works with Maya and Houdini', tags: ['fx'] },
    { name: 'houdini-fx', description: 'Effects', targets: [{ kind: 'dcc', id: 'houdini' }] },
    { name: 'paint', description: 'Paint weights of rigs', tags: ['maya', 'weights'] },
    { name: 'Übersicht', description: 'Bilder und Szenen', dcc: ['blender'] },
    { name: 'blender-rig-tools', description: 'Rigs', dcc: ['blender'] },
  ]
  const all = 'blender-rig-tools cloth houdini-fx maya-bridge paint rig-tools Übersicht'
  const cases: [query: string, names: string][] = [
    ['  --- !', all],
    // In a name and the application, in the application, in a tag, in the description.
    ['MAYA', 'maya-bridge rig-tools paint cloth'],
    // The exact name before a name that has both words.
    [' RIG-tools ', 'rig-tools blender-rig-tools paint'],
    // Both words before one of them, however well that one fits.
    ['maya rig', 'rig-tools paint maya-bridge blender-rig-tools cloth'],
    ['houd', 'houdini-fx cloth'],
    ['imul', 'cloth'],
    ['ÜBERS', 'Übersicht'],
    ['nowhere', ''],
    [`${Array.from({ length: 1000 }, (_, at) => `w${at}`).join(' ')} maya`, ''],
  ]
  for (const [query, names] of cases) {
    it(`answers "${query.slice(0, 20)}" with ${names || 'nothing'}`, () => {
      for (const given of [entries, entries.toReversed()]) {
        expect(
          rankEntries(given, query)
            .map(({ name }) => name)
            .join(' '),
        ).to.equal(names)
      }
    })
  }
})
