import { expect } from 'chai'
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const src = fileURLToPath(new URL('../../src/', import.meta.url))
const files = readdirSync(src, { recursive: true })
  .map(path => String(path).replaceAll('\\', '/'))
  .filter(path => path.endsWith('.ts'))

interface Import {
  /** A path below `src`, or the name of a package. */
  readonly target: string
  /** `import()` instead of `import`. */
  readonly dynamic: boolean
}

/** Whether an import may stand in a file, for every rule that is about the two. */
type Rule = (file: string, found: Import) => boolean

const below =
  (...folders: string[]) =>
  (path: string) =>
    folders.some(folder => path.startsWith(`${folder}/`))
const inLib = below('lib')
const inServer = below('server')
const inCommands = below('commands')
const program = /^server\/[a-z-]+\.ts$/
/** Plain values and types that flags are made of: no code of a server comes with them. */
const settingsFiles = /^server\/[a-z-]+(\/[a-z-]+)?\/([a-z]+-)?(limits|options|settings)\.ts$/
const network = /^node:(http|https|http2|net|tls|dgram)$/

const rules: Readonly<Record<string, Rule>> = {
  'lib imports no server and no command': (file, { target }) =>
    !inLib(file) || !(inServer(target) || inCommands(target) || target === 'main.ts'),
  'a server imports no command line': (file, { target }) =>
    !inServer(file) || !(inCommands(target) || below('lib/cli')(target)),
  'only lib/cli imports the terminal in lib': (file, { target }) =>
    !inLib(file) || below('lib/cli')(file) || !below('lib/cli')(target),
  'commands import servers dynamically': (file, { target, dynamic }) =>
    !inCommands(file) || !inServer(target) || dynamic || settingsFiles.test(target),
  'only commands and the library entry import a program': (file, { target }) =>
    !program.test(target) || inCommands(file) || program.test(file) || file === 'index.ts',
  'resources and artefacts import no transport': (file, { target }) =>
    !below('server/resources', 'server/artefacts')(file) ||
    !(below('server/http', 'server/mcp')(target) || network.test(target)),
  'the two MCP transports do not import each other': (file, { target }) =>
    !(below('server/mcp/sessions')(file) && below('server/mcp/stateless')(target)) &&
    !(below('server/mcp/stateless')(file) && below('server/mcp/sessions')(target)),
  'only database folders import SQLite': (file, { target }) =>
    target !== 'node:sqlite' || /\/sqlite\//.test(file) || below('lib/config')(file),
  'no file imports node:module': (_, { target }) => target !== 'node:module',
}

/** Which folders may use a package. Anything of Node is free. */
const packages: readonly (readonly [RegExp, (file: string) => boolean])[] = [
  [/^node:/, () => true],
  [/^@oclif\//, file => file === 'main.ts' || below('commands', 'lib/cli')(file)],
  [/^@inquirer\//, below('commands', 'lib/cli')],
  [/^(pino|fast-string-width)$/, below('lib/cli')],
  [/^fflate$/, below('lib/util')],
  [/^jsonc-parser$/, below('lib/mcp', 'lib/util')],
  [/^smol-toml$/, below('lib/config', 'lib/mcp')],
  [/^zod$/, below('lib/accounts', 'server')],
  [/^(hono|@hono\/.*|jose|hono-openapi)$/, below('server')],
  [/^@zxcvbn-ts\/language-common$/, below('server/accounts')],
  [/^(node-screenshots|pngjs)$/, below('server/capture')],
  [/^ws$/, below('server')],
  [/^pg$/, below('server/database')],
  [/^@aws-sdk\//, below('server/artefacts/bucket')],
  [/^undici$/, below('server/gateway')],
]

describe('architecture', () => {
  it('keeps every file in a folder, apart from the entries and the three programs', () => {
    const roots = files.filter(file => /^((lib|server)\/)?[^/]+$/.test(file))
    expect(roots.sort()).to.deep.equal([
      'index.ts',
      'main.ts',
      'server/accounts-server.ts',
      'server/gateway.ts',
      'server/serve.ts',
    ])
  })

  it('has no import against a rule', () => {
    expect(files.flatMap(file => violations(file, read(file)))).to.deep.equal([])
  })

  it('has no cycle between folders', () => {
    const edges = new Map<string, Set<string>>()
    for (const file of files) {
      for (const { target } of importsOf(file, read(file))) {
        const [from, to] = [folderOf(file), folderOf(target)]
        if (!files.includes(target) || from === to) continue
        edges.set(from, (edges.get(from) ?? new Set()).add(to))
      }
    }
    expect(findCycle(edges)).to.deep.equal([])
  })

  it('lets the page share only general modules and the protocol with the program', () => {
    const page = fileURLToPath(new URL('../../page/', import.meta.url))
    const shared = readdirSync(page, { recursive: true })
      .map(String)
      .filter(path => /\.tsx?$/.test(path))
      .flatMap(path => importsOf(path, readFileSync(join(page, path), 'utf8')))
      .map(({ target }) => target)
      .filter(target => target.startsWith('../src/'))
    expect(shared).to.include('../src/lib/mcp/change-words.ts')
    expect(
      shared.filter(path => !/^\.\.\/src\/lib\/(util|mcp)\/[a-z-]+\.ts$/.test(path)),
    ).to.deep.equal([])
  })

  it('finds a cycle', () => {
    const edges = new Map([
      ['a', new Set(['b'])],
      ['b', new Set(['c'])],
      ['c', new Set(['b'])],
    ])
    expect(findCycle(edges)).to.deep.equal(['b', 'c', 'b'])
  })

  const cases: [file: string, line: string, refused: boolean][] = [
    ['server/mcp/sessions/a.ts', `import { x } from '../stateless/b.ts'`, true],
    ['server/mcp/stateless/a.ts', `import type { x } from '../sessions/b.ts'`, true],
    ['server/mcp/sessions/a.ts', `import { x } from '../json-rpc.ts'`, false],
    ['server/resources/a.ts', `import { x } from '../mcp/b.ts'`, true],
    ['server/resources/a.ts', `export { x } from '../http/b.ts'`, true],
    ['server/resources/a.ts', `import http from 'node:http'`, true],
    ['server/resources/a.ts', `import type { x } from 'node:http'`, true],
    ['server/artefacts/a.ts', `import { x } from '../http/b.ts'`, true],
    ['server/resources/a.ts', `  import { x } from '../http/b.ts'`, true],
    ['server/resources/a.ts', `const x = 1; import { y } from '../http/b.ts'`, true],
    ['server/resources/a.ts', 'const x = await import(`node:http`)', true],
    ['server/resources/a.ts', 'const x = await import(`../${name}.ts`)', true],
    ['server/resources/a.ts', `const x = await import(name)`, true],
    ['server/resources/a.ts', `const x = await import(/* late */ '../mcp/b.ts')`, true],
    ['server/resources/a.ts', `const x = process.getBuiltinModule('node:http')`, true],
    ['server/resources/a.ts', `const { getBuiltinModule } = process`, true],
    ['server/resources/a.ts', `import { createRequire } from 'node:module'`, true],
    ['server/resources/a.ts', `import { x } from 'node:crypto'`, false],
    ['server/accounts/a.ts', `import { x } from 'node:sqlite'`, true],
    ['server/accounts/sqlite/a.ts', `import { x } from 'node:sqlite'`, false],
    ['server/accounts/postgres/a.ts', `import { x } from 'node:sqlite'`, true],
    ['server/accounts/postgres/a.ts', `import pg from 'pg'`, true],
    ['server/artefacts/a.ts', `import x from '@aws-sdk/client-s3'`, true],
    ['server/accounts/a.ts', `import fflate from 'fflate'`, true],
    ['server/host/a.ts', `import { x } from '../../lib/host-link/wire.ts'`, false],
    ['server/http/a.ts', `import { x } from '../../commands/serve.ts'`, true],
    ['server/http/a.ts', `import '../../lib/cli/log.ts'`, true],
    ['server/http/a.ts', `import { x } from '../serve.ts'`, true],
    ['lib/util/a.ts', `import { x } from '../../server/serve.ts'`, true],
    ['lib/util/a.ts', `import { x } from '../cli/b.ts'`, true],
    ['lib/util/a.ts', `import { x } from 'ws'`, true],
    ['lib/accounts/a.ts', `import { x } from '@inquirer/prompts'`, true],
    ['lib/cli/a.ts', `import {\n  x,\n  y,\n} from '../../server/http/app.ts'`, true],
    ['commands/a.ts', `const x = await import('../server/serve.ts')`, false],
    ['commands/a.ts', `import { x } from '../server/serve.ts'`, true],
    ['commands/a.ts', `import { x } from '../server/auth/limits.ts'`, false],
    ['commands/a.ts', `import { x } from '../server/accounts/admin/users.ts'`, true],
    ['commands/a.ts', `import { x } from 'left-pad'`, true],
    ['commands/a.ts', `// import { x } from '../server/serve.ts'`, false],
  ]
  for (const [file, line, refused] of cases) {
    it(`${refused ? 'refuses' : 'accepts'} ${line.replace(/\s+/g, ' ')} in ${file}`, () => {
      expect(violations(file, line)).to.have.length(refused ? 1 : 0)
    })
  }
})

function read(file: string): string {
  return readFileSync(join(src, file), 'utf8')
}

/** `lib/x` and `server/x` are one folder each with what is below them; so is `commands`. */
function folderOf(path: string): string {
  const parts = path.split('/')
  return parts[0] === 'commands' ? 'commands' : parts.slice(0, -1).slice(0, 2).join('/') || path
}

function violations(file: string, text: string): string[] {
  return importsOf(file, text)
    .filter(found => {
      const isLocal = found.target.includes('.ts')
      const isAllowed = packages.find(([form]) => form.test(found.target))?.[1](file) ?? false
      return !Object.values(rules).every(rule => rule(file, found)) || !(isLocal || isAllowed)
    })
    .map(({ target, dynamic }) => `${file} ${dynamic ? 'loads' : 'imports'} ${target}`)
}

function importsOf(file: string, text: string): Import[] {
  const code = text.replace(/^\s*(\/\/|\/?\*).*$/gm, '')
  const fixed = /(?:^|;)\s*(?:import|export)\b(?:[^'"();]*?\bfrom\s*)?\s*['"]([^'"]+)['"]/gm
  const dynamic = /\b(?:import|getBuiltinModule)\(\s*(['"`])([^'"`$]+)\1\s*[,)]/g
  // A module whose name is made at run time cannot be judged.
  const hidden =
    /\b(?:import|getBuiltinModule)\((?!\s*(['"`])[^'"`$]+\1\s*[,)])|\bgetBuiltinModule\b(?!\()/g
  const resolve = (target: string) =>
    target.startsWith('.') ? normalize(join(dirname(file), target)).replaceAll('\\', '/') : target
  return [
    ...Array.from(code.matchAll(fixed), ([, target = '']) => ({
      target: resolve(target),
      dynamic: false,
    })),
    ...Array.from(code.matchAll(dynamic), ([, , target = '']) => ({
      target: resolve(target),
      dynamic: true,
    })),
    ...Array.from(code.matchAll(hidden), ([target]) => ({ target, dynamic: true })),
  ]
}

/** Returns the folders of one cycle in order, the first one again at the end; empty without a cycle. */
function findCycle(edges: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const done = new Set<string>()
  function visit(folder: string, path: readonly string[]): string[] {
    if (path.includes(folder)) return [...path.slice(path.indexOf(folder)), folder]
    if (done.has(folder)) return []
    for (const next of edges.get(folder) ?? []) {
      const cycle = visit(next, [...path, folder])
      if (cycle.length > 0) return cycle
    }
    done.add(folder)
    return []
  }
  for (const folder of edges.keys()) {
    const cycle = visit(folder, [])
    if (cycle.length > 0) return cycle
  }
  return []
}
