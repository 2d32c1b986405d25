import { expect } from 'chai'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../helpers/program.ts'

const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** Installs whatever has been published under that name. */
const fromRegistry =
  /\bnpx (?:-\S+ )*service-cli\b|\bnpm (?:i|install|add|exec)\b(?: -\S+)* service-cli(?=[\s`'"@)]|$)/

describe('what readers are told to run', () => {
  it('installs no package of that name from a registry while it is not published', () => {
    const patterns = ['*.md', 'docs/*.md', 'adapters/**/*.{md,py}', 'src/**/*.ts']
    const found = globSync(patterns, { cwd: root }).flatMap(file =>
      read(file)
        .split('\n')
        .flatMap((line, at) => (fromRegistry.test(line) ? [`${file}:${at + 1}`] : [])),
    )
    expect(found).to.deep.equal([])
  })

  it('has only commands and flags that exist', async () => {
    const pages = globSync(['*.md', 'docs/*.md', 'adapters/**/*.md'], { cwd: root })
    const wrong = []
    for (const page of pages) {
      for (const line of commandLines(read(page))) {
        const { name, flags, words } = await commandOf(line)
        const unknown = words.filter(word => !flags.includes(word))
        if (name === '' || unknown.length > 0) wrong.push(`${page}: ${line} (${unknown.join()})`)
      }
    }
    expect(wrong).to.deep.equal([])
  })
})

/** What stands behind `service-cli` in the blocks of a page, to the next command or comment. */
function commandLines(text: string): string[] {
  const blocks = text.matchAll(/^ *```(?:sh|ini|yaml)\n([^]*?)^ *```/gm)
  const joined = Array.from(blocks, ([, block = '']) => block.replaceAll('\\\n', '')).join('\n')
  const lines = joined.replaceAll(/(?<=^|\s)#.*/gm, '')
  const calls = lines.matchAll(/(?:^|[;&(=]|run:)[ \t]*(?:\/\S+\/)?service-cli (.*)/gm)
  return Array.from(calls, ([, call = '']) => call.split(/[|;>)`&]/, 1)[0] ?? '')
}

/** The command that a line names, its flags, and those that the line has. */
async function commandOf(line: string) {
  const words = line.trim().split(/\s+/)
  const asked = words.flatMap(word => /^--?([a-z-]+)/.exec(word)?.[1] ?? [])
  const names = words.filter(word => /^[a-z-]+$/.test(word) && !word.startsWith('-'))
  for (let count = Math.min(names.length, 3); count > 0; count--) {
    const name = names.slice(0, count).join('/')
    const file = [`${name}.ts`, `${name}/index.ts`]
      .map(path => join(root, 'src/commands', path))
      .find(path => existsSync(path))
    if (file === undefined) continue
    const { default: command } = await import(file)
    const flags = { ...command.baseFlags, ...command.flags }
    const chars = Object.values<any>(flags).map(({ char }) => char)
    return { name, flags: ['help', ...Object.keys(flags), ...chars], words: asked }
  }
  const isOclif = ['autocomplete', 'help'].includes(names[0] ?? '') || asked[0] === 'help'
  return { name: isOclif ? 'oclif' : '', flags: asked, words: asked }
}
