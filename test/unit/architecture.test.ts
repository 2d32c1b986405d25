import { expect } from 'chai'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../helpers/program.ts'

const files = globSync('**/*.ts', { cwd: join(root, 'src') })

/** The linter holds the other rules: see `.oxlintrc.json`. */
describe('imports between folders', () => {
  it('form no cycle', () => {
    const imports = new Map<string, Set<string>>()
    for (const file of files) {
      const known = imports.get(folderOf(file)) ?? []
      const targets = targetsOf(file, /\b(?:from|import\() ?'(\.[^']+)'/g).map(folderOf)
      imports.set(folderOf(file), new Set([...known, ...targets]))
    }
    const done = new Set<string>()
    const visit = (folder: string, path: readonly string[]) => {
      expect(path, `${path.join(' → ')} → ${folder}`).not.to.include(folder)
      for (const target of done.has(folder) ? [] : (imports.get(folder) ?? [])) {
        if (target !== folder) visit(target, [...path, folder])
      }
      done.add(folder)
    }
    for (const folder of imports.keys()) visit(folder, [])
  })

  it('load a server only when a command runs it', () => {
    // Modules that read flags and load no server.
    const parsers = [
      'server/capture/backend.ts',
      'server/database/settings.ts',
      'server/http/listen-options.ts',
    ]
    const loaded = files
      .filter(file => file.startsWith('commands/'))
      .flatMap(file => targetsOf(file, /^import (?!type\b)[^']*'(\.[^']+)'/gm))
      .filter(target => target.startsWith('server/') && !parsers.includes(target))
    expect(loaded).to.deep.equal([])
  })
})

function targetsOf(file: string, form: RegExp): string[] {
  const text = readFileSync(join(root, 'src', file), 'utf8')
  return Array.from(text.matchAll(form), ([, target = '']) => join(dirname(file), target))
}

/** `lib/x` and `server/x` are one folder each with what is below them; so is `commands`. */
function folderOf(path: string): string {
  const [top = '', folder = '.ts'] = path.split('/')
  return top === 'commands' || folder.endsWith('.ts') ? top : `${top}/${folder}`
}
