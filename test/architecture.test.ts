import { expect } from 'chai'
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const src = fileURLToPath(new URL('../src/', import.meta.url))

/** Longest prefix first: a file belongs to the first zone it starts with. */
const zones = [
  'commands/',
  'lib/cli/',
  'lib/config/',
  'lib/accounts/',
  'lib/host-link/',
  'lib/mcp/client/',
  'lib/mcp/settings/',
  'lib/mcp/bridge/',
  'lib/',
  'lib/config/limits.ts',
  'lib/config/artefact-limits.ts',
  'lib/config/host-link-limits.ts',
  'server/host/serve-options.ts',
  'server/accounts/options.ts',
  'server/gateway/options.ts',
  'server/accounts/limits.ts',
  'server/accounts/admin-limits.ts',
  'server/accounts/admin/',
  'server/accounts/sqlite/',
  'server/accounts/',
  'server/artefacts/',
  'server/auth/limits.ts',
  'server/auth/settings.ts',
  'server/auth/',
  'server/capture/limits.ts',
  'server/capture/',
  'lib/config/gateway-limits.ts',
  'server/gateway/',
  'server/host/',
  'server/http/',
  'server/mcp/sessions/',
  'server/mcp/stateless/',
  'server/mcp/',
  'server/resources/',
  'server/http/',
  'server/',
  'index.ts',
  'main.ts',
] as const
type Zone = (typeof zones)[number]

const parts: readonly Zone[] = zones.filter(
  zone => zone.startsWith('server/') && zone !== 'server/',
)

/** Which zones a zone may import, itself excepted. */
const allowed: Readonly<Record<Zone, readonly Zone[]>> = {
  'main.ts': ['commands/', 'lib/cli/', 'lib/'],
  'index.ts': ['lib/', 'server/', ...parts],
  'commands/': [
    'lib/cli/',
    'lib/config/',
    'lib/accounts/',
    'lib/mcp/client/',
    'lib/mcp/settings/',
    'lib/mcp/bridge/',
    'lib/',
    'lib/config/limits.ts',
    'server/host/serve-options.ts',
    'server/accounts/options.ts',
    'server/gateway/options.ts',
    'server/accounts/limits.ts',
    'server/accounts/admin-limits.ts',
    'server/auth/limits.ts',
    'server/auth/settings.ts',
    'server/capture/limits.ts',
    'lib/config/gateway-limits.ts',
  ],
  'lib/cli/': ['lib/', 'lib/config/', 'lib/accounts/'],
  'lib/config/': ['lib/'],
  'lib/accounts/': ['lib/', 'lib/config/'],
  'lib/host-link/': ['lib/'],
  'lib/mcp/client/': ['lib/', 'lib/mcp/bridge/'],
  'lib/mcp/settings/': ['lib/'],
  'lib/mcp/bridge/': ['lib/'],
  'lib/': [],
  'server/': ['lib/', ...parts],
  'lib/config/limits.ts': [
    'lib/',
    'lib/config/artefact-limits.ts',
    'lib/config/host-link-limits.ts',
  ],
  'lib/config/artefact-limits.ts': [],
  'lib/config/host-link-limits.ts': [],
  'server/host/serve-options.ts': [
    'lib/',
    'lib/config/limits.ts',
    'server/http/',
    'server/http/',
    'server/auth/limits.ts',
    'server/auth/settings.ts',
    'server/capture/limits.ts',
    'server/capture/',
    'lib/config/gateway-limits.ts',
  ],
  'server/gateway/options.ts': [
    'lib/',
    'lib/config/limits.ts',
    'server/http/',
    'server/http/',
    'server/auth/limits.ts',
    'server/auth/settings.ts',
    'lib/config/gateway-limits.ts',
  ],
  'server/http/': ['lib/', 'lib/config/limits.ts', 'server/artefacts/'],
  'server/http/': ['lib/', 'lib/config/limits.ts'],
  'server/auth/limits.ts': ['lib/'],
  'server/auth/settings.ts': [],
  'server/auth/': [
    'lib/',
    'lib/config/limits.ts',
    'server/http/',
    'server/auth/limits.ts',
    'server/auth/settings.ts',
  ],
  'server/capture/limits.ts': ['lib/'],
  'server/capture/': [
    'lib/',
    'lib/config/limits.ts',
    'server/resources/',
    'server/capture/limits.ts',
  ],
  'server/resources/': ['lib/', 'lib/config/limits.ts'],
  'server/artefacts/': ['lib/', 'lib/config/limits.ts', 'server/resources/'],
  'server/mcp/': [
    'lib/',
    'lib/config/limits.ts',
    'server/http/',
    'server/resources/',
    'server/mcp/sessions/',
    'server/mcp/stateless/',
  ],
  'server/mcp/sessions/': [
    'lib/',
    'lib/config/limits.ts',
    'server/http/',
    'server/resources/',
    'server/mcp/',
  ],
  'server/mcp/stateless/': [
    'lib/',
    'lib/config/limits.ts',
    'server/http/',
    'server/resources/',
    'server/mcp/',
  ],
  'server/host/': [
    'lib/',
    'lib/host-link/',
    'lib/config/limits.ts',
    'server/http/',
    'server/resources/',
    'server/artefacts/',
    'server/capture/',
  ],
  'lib/config/gateway-limits.ts': ['lib/'],
  'server/gateway/': [
    'lib/',
    'lib/config/limits.ts',
    'server/resources/',
    'lib/config/gateway-limits.ts',
  ],
  'server/accounts/options.ts': [
    'lib/',
    'lib/accounts/',
    'lib/config/limits.ts',
    'server/http/',
    'server/http/',
    'server/accounts/limits.ts',
  ],
  'server/accounts/limits.ts': ['lib/'],
  'server/accounts/admin-limits.ts': [],
  'server/accounts/admin/': [
    'lib/',
    'lib/config/limits.ts',
    'server/accounts/limits.ts',
    'server/accounts/admin-limits.ts',
    'server/accounts/sqlite/',
    'server/accounts/',
  ],
  'server/accounts/': [
    'lib/',
    'lib/accounts/',
    'lib/config/limits.ts',
    'server/http/',
    'server/accounts/limits.ts',
    'server/accounts/sqlite/',
  ],
  'server/accounts/sqlite/': ['lib/', 'lib/config/limits.ts', 'server/accounts/'],
}

/** `import()` instead of `import`: the server loads only when it is about to run. */
const allowedLate: Partial<Record<Zone, readonly Zone[]>> = {
  'commands/': ['server/', 'server/accounts/admin/', 'server/capture/', 'server/gateway/'],
}

/** What can be read and where it is kept must not depend on how it is asked for. */
const transportFree: readonly Zone[] = ['server/resources/', 'server/artefacts/']

/** Who may import what from outside. Anything of Node that is not named is free. */
const packages: readonly { matches: RegExp; zones: readonly Zone[] }[] = [
  { matches: /^@oclif\//, zones: ['main.ts', 'commands/', 'lib/cli/'] },
  { matches: /^@inquirer\//, zones: ['commands/', 'lib/cli/'] },
  { matches: /^pino$/, zones: ['lib/cli/'] },
  { matches: /^fflate$/, zones: ['lib/'] },
  { matches: /^node-screenshots$/, zones: ['server/capture/'] },
  { matches: /^got$/, zones: ['lib/accounts/'] },
  { matches: /^string-width$/, zones: ['lib/cli/'] },
  { matches: /^smol-toml$/, zones: ['lib/config/', 'lib/mcp/settings/'] },
  { matches: /^zod$/, zones: ['lib/accounts/', 'server/', ...parts] },
  { matches: /^(hono|@hono\/.*|jose|hono-openapi)$/, zones: ['server/', ...parts] },
  { matches: /^ws$/, zones: ['lib/host-link/', 'server/', ...parts] },
  {
    matches: /^node:(http|https|http2|net|tls|dgram)$/,
    zones: [...zones].filter(zone => !transportFree.includes(zone)),
  },
  { matches: /^node:module$/, zones: [] },
  { matches: /^node:sqlite$/, zones: ['lib/config/', 'server/accounts/sqlite/'] },
  { matches: /^node:/, zones },
]

interface Import {
  readonly target: string
  readonly late: boolean
}

describe('architecture', () => {
  const files = readdirSync(src, { recursive: true })
    .map(String)
    .filter(path => path.endsWith('.ts'))
    .map(path => path.replaceAll('\\', '/'))

  it('sees the source files', () => {
    expect(files).to.include.members(['main.ts', 'index.ts', 'server/resources/registry.ts'])
  })

  it('has no import against the directions', () => {
    const wrong = files.flatMap(file => violations(file, readFileSync(join(src, file), 'utf8')))
    expect(wrong).to.deep.equal([])
  })

  const made: [file: string, line: string, refused: boolean][] = [
    ['server/mcp/sessions/a.ts', `import { x } from '../modern/b.ts'`, true],
    ['server/mcp/stateless/a.ts', `import type { x } from '../legacy/b.ts'`, true],
    ['server/mcp/sessions/a.ts', `import { x } from '../json-rpc.ts'`, false],
    ['server/resources/a.ts', `import { x } from '../mcp/b.ts'`, true],
    ['server/resources/a.ts', `export { x } from '../http/b.ts'`, true],
    ['server/resources/a.ts', `import http from 'node:http'`, true],
    ['server/resources/a.ts', `import type { x } from 'node:http'`, true],
    ['server/artefacts/a.ts', `import type { x } from 'node:http'`, true],
    ['server/artefacts/a.ts', `import { x } from '../http/b.ts'`, true],
    ['server/resources/a.ts', `  import { x } from '../http/b.ts'`, true],
    ['server/resources/a.ts', `\texport { x } from '../http/b.ts'`, true],
    ['server/resources/a.ts', `const x = 1; import { y } from '../http/b.ts'`, true],
    ['server/resources/a.ts', 'const x = await import(`node:http`)', true],
    ['server/resources/a.ts', 'const x = await import(`../${name}.ts`)', true],
    ['server/resources/a.ts', `const x = await import('node:' + name)`, true],
    ['server/resources/a.ts', `const x = await import(name)`, true],
    ['server/resources/a.ts', `const x = await import(/* late */ '../mcp/b.ts')`, true],
    ['server/resources/a.ts', `const x = process.getBuiltinModule('node:http')`, true],
    ['server/resources/a.ts', `const x = process.getBuiltinModule('node:' + name)`, true],
    ['server/resources/a.ts', `const { getBuiltinModule } = process`, true],
    ['lib/accounts/a.ts', `const x = process.getBuiltinModule('node:http')`, false],
    ['server/resources/a.ts', `import { createRequire } from 'node:module'`, true],
    ['server/resources/a.ts', `import * as module from 'node:module'`, true],
    ['server/resources/a.ts', `import { x } from 'node:crypto'`, false],
    ['server/accounts/a.ts', `import { x } from 'node:sqlite'`, true],
    ['server/accounts/sqlite/a.ts', `import { x } from 'node:sqlite'`, false],
    ['lib/a.ts', `import { x } from '../server/options.ts'`, true],
    ['lib/a.ts', `import { x } from './cli/b.ts'`, true],
    ['lib/a.ts', `import { x } from 'ws'`, true],
    ['lib/a.ts', `import { x } from './host-link/wire.ts'`, true],
    ['lib/host-link/a.ts', `import { x } from 'ws'`, false],
    ['lib/host-link/a.ts', `import { x } from '../../server/options.ts'`, true],
    ['server/host/a.ts', `import { x } from '../../lib/host-link/wire.ts'`, false],
    ['lib/mcp/bridge/a.ts', `import http from 'node:http'`, false],
    ['lib/mcp/bridge/a.ts', `import { x } from '../cli/log.ts'`, true],
    ['lib/a.ts', `import { x } from './stdio-bridge/b.ts'`, true],
    ['commands/a.ts', `import { x } from '../lib/stdio-bridge/b.ts'`, false],
    ['lib/mcp/client/a.ts', `import { x } from '../stdio-bridge/b.ts'`, false],
    ['lib/mcp/client/a.ts', `import { x } from '../cli/b.ts'`, true],
    ['lib/mcp/bridge/a.ts', `import { x } from '../mcp-client/b.ts'`, true],
    ['lib/auth/a.ts', `import { x } from '@oclif/core'`, true],
    ['lib/a.ts', `import { x } from './registry/b.ts'`, true],
    ['lib/accounts/a.ts', `const x = await import('got')`, false],
    ['lib/accounts/a.ts', `import { x } from 'node:sqlite'`, true],
    ['lib/accounts/a.ts', `import { x } from '@inquirer/prompts'`, true],
    ['lib/config/a.ts', `import { x } from 'node:sqlite'`, false],
    ['server/accounts/a.ts', `import got from 'got'`, true],
    ['server/accounts/a.ts', `import { x } from '../../lib/config/b.ts'`, true],
    ['server/mcp/a.ts', `import { x } from '../../lib/registry/b.ts'`, true],
    ['lib/cli/a.ts', `import { x } from '@oclif/core'`, false],
    ['lib/cli/a.ts', `import {\n  x,\n  y,\n} from '../../server/app.ts'`, true],
    ['server/mcp/app.ts', `import { x } from '../commands/serve.ts'`, true],
    ['server/mcp/app.ts', `import '../lib/cli/log.ts'`, true],
    ['server/host/a.ts', `const x = await import('../mcp/b.ts')`, true],
    ['server/host/a.ts', `type X = import('../mcp/b.ts').X`, true],
    ['commands/a.ts', `const x = await import('../server/serve.ts')`, false],
    ['commands/a.ts', `import { x } from '../server/serve.ts'`, true],
    ['commands/a.ts', `const x = await import('../server/accounts/admin/users.ts')`, false],
    ['commands/a.ts', `const x = await import('../server/accounts/services.ts')`, true],
    ['commands/a.ts', `import { x } from '../server/accounts/admin/users.ts'`, true],
    ['server/accounts/a.ts', `import { x } from './admin/users.ts'`, true],
    ['commands/a.ts', `import { x } from 'left-pad'`, true],
    ['elsewhere/a.ts', `const x = 1`, true],
    ['commands/a.ts', `// import { x } from '../server/serve.ts'`, false],
  ]
  for (const [file, line, refused] of made) {
    it(`${refused ? 'refuses' : 'accepts'} ${line.replace(/\s+/g, ' ')} in ${file}`, () => {
      expect(violations(file, line)).to.have.length(refused ? 1 : 0)
    })
  }
})

function violations(file: string, text: string): string[] {
  const from = zoneOf(file)
  if (from === undefined) return [`${file} belongs to no zone`]
  return importsOf(text)
    .filter(found => !isAllowed(from, file, found))
    .map(({ target, late }) => `${file} ${late ? 'loads' : 'imports'} ${target}`)
}

function isAllowed(from: Zone, file: string, { target, late }: Import): boolean {
  if (!target.startsWith('.')) {
    return packages.find(({ matches }) => matches.test(target))?.zones.includes(from) ?? false
  }
  const to = zoneOf(normalize(join(dirname(file), target)).replaceAll('\\', '/'))
  if (to === undefined) return false
  if (to === from || allowed[from].includes(to)) return true
  return late && (allowedLate[from]?.includes(to) ?? false)
}

function zoneOf(file: string): Zone | undefined {
  return zones.find(zone => file.startsWith(zone))
}

function importsOf(text: string): Import[] {
  const code = text.replace(/^\s*(\/\/|\/?\*).*$/gm, '')
  const early = /(?:^|;)\s*(?:import|export)\b(?:[^'"();]*?\bfrom\s*)?\s*['"]([^'"]+)['"]/gm
  const late = /\b(?:import|getBuiltinModule)\(\s*(['"`])([^'"`$]+)\1\s*[,)]/g
  // What is loaded by a name made at run time cannot be judged.
  const hidden =
    /\b(?:import|getBuiltinModule)\((?!\s*(['"`])[^'"`$]+\1\s*[,)])|\bgetBuiltinModule\b(?!\()/g
  return [
    ...Array.from(code.matchAll(early), ([, target = '']) => ({ target, late: false })),
    ...Array.from(code.matchAll(late), ([, , target = '']) => ({ target, late: true })),
    ...Array.from(code.matchAll(hidden), ([target]) => ({ target, late: true })),
  ]
}
