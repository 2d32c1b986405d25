import { expect } from 'chai'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../helpers/program.ts'

const kind = '(?:declare )?(?:class|interface|type|function|const)'

/** What programs of others may rely on. To accept a change: `UPDATE_API=1 npm run test:package`. */
describe('docs/api.txt', () => {
  it('has every declaration that the two entries export', async () => {
    const file = join(root, 'docs', 'api.txt')
    const library = await declarations('index')
    const client = await declarations('host-client')
    const text = `== service-cli\n${library}\n== service-cli/host-client\n${client}`
    if (process.env.UPDATE_API) await writeFile(file, text)
    expect(text).to.equal(await readFile(file, 'utf8'))
  })
})

/** The declarations that a module of `dist` exports, without comments and what is private. */
async function declarations(path: string): Promise<string> {
  const text = await readFile(join(root, 'dist', `${path}.d.ts`), 'utf8')
  const found: string[] = []
  for (const [, names = '', from = ''] of text.matchAll(
    /^export (?:type )?\{([^}]+)\} from '(.+)'/gm,
  )) {
    const module = join(path, '..', from.replace(/\.ts$/, ''))
    for (const name of names.matchAll(/(\w+)\s*(?:,|$)/g))
      found.push(await declaration(module, name[1]))
  }
  for (const [, name] of text.matchAll(new RegExp(`^export ${kind} (\\w+)`, 'gm'))) {
    found.push(await declaration(path, name))
  }
  return found.join('')
}

async function declaration(path: string, name = ''): Promise<string> {
  const text = await readFile(join(root, 'dist', `${path}.d.ts`), 'utf8')
  // From its first line to a brace or an end of statement in the first column.
  const form = new RegExp(`^export ${kind} ${name}\\b(?:.*;$|[^]*?^[})].*$)`, 'gm')
  const own = Array.from(text.matchAll(form), ([each]) => each).join('\n')
  if (own === '') {
    const from = new RegExp(`\\b${name}\\b[^;]*\\} from '(.+)\\.ts'`).exec(text)?.[1]
    if (from === undefined) throw new Error(`${path} does not declare ${name}`)
    return declaration(join(path, '..', from), name)
  }
  const plain = own
    .replaceAll(/^ *\/\*\*[^]*?\*\/\n/gm, '')
    .replaceAll(/^ +(#private|private .*);\n/gm, '')
    .replaceAll(/^export (declare )?/gm, '')
    .replaceAll('    ', '  ')
  return `${plain}\n`
}
