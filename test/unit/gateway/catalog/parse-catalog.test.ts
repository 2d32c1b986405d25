import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { bundledCatalog } from '../../../../src/lib/util/adapter-files.ts'
import { parseCatalog } from '../../../../src/server/gateway/catalog/parse-catalog.ts'
import { defaultGatewayLimits } from '../../../../src/lib/config/gateway-limits.ts'

const parse = (text: string, limits = {}) =>
  parseCatalog(text, { ...defaultGatewayLimits, ...limits })
const file = (...entries: unknown[]) => JSON.stringify({ schema_version: 1, entries })

function failureOf(text: string, limits = {}): string {
  const result = parse(text, limits)
  return result.ok ? 'none' : result.failure
}

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

describe('parseCatalog', () => {
  it('takes an entry with every member as it is', () => {
    expect(parse(file(full))).to.deep.equal({ ok: true, value: [full] })
  })

  it('takes name and description alone, and a name for the whole', () => {
    const entry = { name: 'a', description: 'b' }
    const text = JSON.stringify({ schema_version: 1, name: 'studio', entries: [entry] })
    expect(parse(text)).to.deep.equal({ ok: true, value: [entry] })
    expect(parse(file())).to.deep.equal({ ok: true, value: [] })
  })

  it('takes the bundled one, whose adapters are those of this package', () => {
    const result = parse(readFileSync(bundledCatalog, 'utf8'))
    if (!result.ok) throw new Error(result.failure)
    const adapters = new URL('../../../../adapters/', import.meta.url)
    const versions = {
      'service-cli-blender': /^version = "(.+)"$/m.exec(
        readFileSync(new URL('blender/service_cli_link/blender_manifest.toml', adapters), 'utf8'),
      )?.[1],
      'service-cli-python': /^__version__ = "(.+)"$/m.exec(
        readFileSync(new URL('python/service_host_link/__init__.py', adapters), 'utf8'),
      )?.[1],
    }
    const listed = result.value.map(({ name, version }) => [name, version])
    expect(Object.fromEntries(listed)).to.deep.equal(versions)
  })

  const ok = { name: 'a', description: 'b' }
  const wrong: [what: string, text: string, failure: string][] = [
    ['no JSON', '{', 'it is not valid JSON'],
    ['too deep a nesting', '['.repeat(20) + ']'.repeat(20), 'it nests more than 16 levels deep'],
    ['a list', '[]', 'the catalog must be an object'],
    ['no version', '{"entries":[]}', 'the catalog: member schema_version: is required'],
    [
      'another version',
      '{"schema_version":2,"entries":[]}',
      'the catalog: member schema_version: must be a whole number from 1 to 1',
    ],
    ['no entries', '{"schema_version":1}', 'the catalog: member entries: must be a list'],
    [
      'an unknown member',
      '{"schema_version":1,"entries":[],"items":[]}',
      'the catalog: member items: is not known here',
    ],
    ['an entry that is none', file(ok, 7), 'entry 2 must be an object'],
    ['no name', file({ description: 'b' }), 'entry 1: member name: is required'],
    [
      'a name out of its form',
      file({ name: 'a b', description: 'b' }),
      'entry 1: member name: must be letters, digits, ".", "_" and "-"',
    ],
    [
      'a name with a way up',
      file({ name: '../a', description: 'b' }),
      'entry 1: member name: must be letters, digits, ".", "_" and "-"',
    ],
    [
      'a name twice',
      file(ok, { ...ok, description: 'c' }),
      'entry 2 ("a"): member name: is also that of entry 1',
    ],
    ['no description', file({ name: 'a' }), 'entry 1 ("a"): member description: is required'],
    [
      'a blank description',
      file({ name: 'a', description: ' ' }),
      'entry 1 ("a"): member description: must not be empty',
    ],
    [
      'a description that moves the cursor',
      file({ name: 'a', description: 'x\u001b[2J' }),
      'entry 1 ("a"): member description: must not have control characters',
    ],
    [
      'a misspelt member',
      file({ ...ok, tag: ['x'] }),
      'entry 1 ("a"): member tag: is not known here',
    ],
    ['a text for a list', file({ ...ok, tags: 'x' }), 'entry 1 ("a"): member tags: must be a list'],
    [
      'a number in a list',
      file({ ...ok, tags: ['x', 7] }),
      'entry 1 ("a"): member tags.1: must be a string',
    ],
    ['null in a list', file({ ...ok, tags: [null] }), 'entry 1 ("a"): member tags.0: is required'],
    [
      'an empty text in a list',
      file({ ...ok, tags: [''] }),
      'entry 1 ("a"): member tags.0: must not be empty',
    ],
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
      'a target of no kind',
      file({ ...ok, targets: [{ kind: 'tv', id: 'x' }] }),
      'entry 1 ("a"): member targets.0.kind: must be dcc or application or game or web',
    ],
    [
      'a target that is none',
      file({ ...ok, targets: ['maya'] }),
      'entry 1 ("a"): member targets.0: must be an object',
    ],
    [
      'an unknown way to install',
      file({ ...ok, install: { type: 'npm' } }),
      'entry 1 ("a"): member install.type: must be git or zip or path or pip or command',
    ],
    [
      'git without its URL',
      file({ ...ok, install: { type: 'git' } }),
      'entry 1 ("a"): member install.url: is required',
    ],
    [
      'pip without its package',
      file({ ...ok, install: { type: 'pip' } }),
      'entry 1 ("a"): member install.pip_package: is required',
    ],
    [
      'a short ref',
      file({ ...ok, install: { type: 'git', url: 'https://x.example', ref: 'main' } }),
      'entry 1 ("a"): member install.ref: must be 40 hexadecimal digits in lower case',
    ],
    [
      'a component without id',
      file({ ...ok, package: { format: 'skill', components: [{ kind: 'x' }] } }),
      'entry 1 ("a"): member package.components.0.id: is required',
    ],
    [
      'a hostile name of a member',
      file({ ...ok, 'x\u001b[2J\n': 1 }),
      'entry 1 ("a"): member x: is not known here',
    ],
  ]
  for (const [what, text, failure] of wrong) {
    it(`refuses ${what}, naming entry and member`, () => {
      expect(failureOf(text)).to.equal(failure)
    })
  }

  it('takes a name such as __proto__ for what it is', () => {
    const text =
      '{"schema_version":1,"entries":[{"name":"a","description":"b","__proto__":{"tags":["x"]}}]}'
    expect(failureOf(text)).to.equal('entry 1 ("a"): member __proto__: is not known here')
  })

  it('has its bounds', () => {
    const many = Array.from({ length: 3 }, (_, at) => ({ name: `n${at}`, description: 'd' }))
    expect(failureOf(file(...many), { maxCatalogEntries: 2 })).to.equal(
      'it has more than 2 entries',
    )
    expect(failureOf(file(...many), { maxCatalogEntries: 3 })).to.equal('none')
    const tags = { ...ok, tags: ['a', 'b', 'c'] }
    expect(failureOf(file(tags), { maxCatalogItems: 2 })).to.include(
      'must not have more than 2 items',
    )
    const long = { ...ok, description: 'x'.repeat(11) }
    expect(failureOf(file(long), { maxCatalogTextChars: 10 })).to.include(
      'longer than 10 characters',
    )
    expect(failureOf(file({ ...ok, tags: ['x'.repeat(256)] }))).to.include(
      'tags.0: must not be longer',
    )
  })
})
