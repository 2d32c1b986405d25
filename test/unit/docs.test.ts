import { expect } from 'chai'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../helpers/program.ts'

const read = (file: string) => readFileSync(join(root, file), 'utf8')

const pages = globSync(['*.md', 'docs/*.md', 'adapters/**/*.md'], { cwd: root })

const codeBlock = /^ *```[^\n]*\n([^]*?)^ *```/gm

/** The page without its blocks of code. */
const proseOf = (page: string) => read(page).replaceAll(codeBlock, '')

/** Installs whatever has been published under that name. */
const fromRegistry = /\bnpm (?:i|install|add|exec)\b(?: -\S+)* service-cli(?=[\s`'"@)]|$)/

describe('the documentation', () => {
  it('has links that lead to a file and to a heading of it', () => {
    const broken = pages.flatMap(page =>
      Array.from(proseOf(page).matchAll(/\]\(([^)\s]+)\)/g), ([, link = '']) => link)
        .filter(link => !/^[a-z]+:/.test(link) && !leads(page, link))
        .map(link => `${page}: ${link}`),
    )
    expect(broken).to.deep.equal([])
  })

  it('has the pages that the sources name', () => {
    const files = globSync(['{src,page,bench,test/*}/**/*.{ts,tsx}', 'adapters/**/*.py'], {
      cwd: root,
      exclude: ['**/node_modules'],
    })
    const missing = files.flatMap(file =>
      Array.from(read(file).matchAll(/\bdocs\/[\w-]+\.md\b/g), ([page]) => page)
        .filter(page => !existsSync(join(root, page)))
        .map(page => `${file}: ${page}`),
    )
    expect(missing).to.deep.equal([])
  })

  it('names files and functions that exist in docs/contributing.md', () => {
    const folders = ['', 'src', 'src/lib', 'src/server', 'src/server/accounts', 'test']
    const placeOf = (path: string) =>
      folders.map(folder => join(root, folder, path)).find(place => existsSync(place))
    const text = proseOf('docs/contributing.md')
    const named = text.matchAll(/`([\w./-]+\/(?:[\w.-]+\.\w+)?)`/g)
    const missing = Array.from(named, ([, path = '']) => path)
      .filter(path => !/NAME|^dist\//.test(path))
      .filter(path => placeOf(path) === undefined)
    expect(missing).to.deep.equal([])
    const functions = [...text.matchAll(/`(?:\w+\.)?(\w+)`\s(?:\(|in )`([\w./-]+\.ts)`/g)]
    expect(functions).to.have.length.above(10)
    for (const [, name = '', path = ''] of functions) {
      expect(readFileSync(placeOf(path)!, 'utf8'), path).to.match(new RegExp(`\\b${name}\\b`))
    }
  })

  it('shows commands that exist, with flags that they have', () => {
    const { commands } = JSON.parse(read('oclif.manifest.json'))
    const wrong = pages.flatMap(page =>
      commandsOf(page)
        .filter(words => !isKnown(words, commands))
        .map(words => `${page}: ${words.join(' ')}`),
    )
    expect(wrong).to.deep.equal([])
  })

  it('installs no package of that name from a registry while it is not published', () => {
    const files = [...pages, ...globSync('src/**/*.ts', { cwd: root })]
    expect(files.filter(file => fromRegistry.test(read(file)))).to.deep.equal([])
  })
})

function leads(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const file = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(root, file))) return false
  return anchor === undefined || anchorsOf(file).has(anchor)
}

/** The anchors that GitHub gives to the headings, and those that the page makes itself. */
function anchorsOf(page: string): Set<string> {
  const text = proseOf(page)
  const headings = Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
  const made = Array.from(text.matchAll(/<a id="([^"]+)">/g), ([, id = '']) => id)
  return new Set([...headings, ...made])
}

/** The words behind `service-cli` in blocks of code and between backticks. */
function commandsOf(page: string): string[][] {
  const blocks = Array.from(read(page).matchAll(codeBlock), ([, code = '']) => code)
  const spans = Array.from(proseOf(page).matchAll(/`([^`]+)`/g), ([, code = '']) => code)
  const code = [...blocks, ...spans].join('\n').replaceAll(/(?<=^|\s)#.*/gm, '')
  const commands = code.matchAll(/(?:^|[\s/])service-cli ((?:\\\n|[^\n|;)#&])+)/g)
  return Array.from(commands, ([, words = '']) => words.trim().split(/[\s\\]+/))
}

function isKnown(words: string[], commands: Record<string, { flags: object }>): boolean {
  const names = [3, 2, 1].map(length => words.slice(0, length).join(':'))
  const command = commands[names.find(name => name in commands) ?? '']
  // A flag before the command, such as `--version`; what oclif adds.
  if (command === undefined) return /^(-|…|help$|autocomplete$)/.test(words[0] ?? '')
  const flags = words.flatMap(word => /^--([a-z-]+)/.exec(word)?.[1] ?? [])
  return flags.every(flag => flag in command.flags || flag === 'help')
}
