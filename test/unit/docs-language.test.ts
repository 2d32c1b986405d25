import { expect } from 'chai'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandNames, loadCommands } from '../../src/commands/index.ts'
import { root } from '../helpers/program.ts'

const maxWords = 30

/** Vague subjects, coined words and double negations; each has a plain replacement. */
const avoided =
  /\b(whoever|nobody|somebody|anybody|everybody|of (?:your|its|their|one's) own|is none|asks? nothing|ask nobody|residents?(?! memory)|rooms?|eras?|registry folders?|what it takes|whatever)\b/gi

/** The stateless and session transports have these names only. */
const oldTransportNames = /\b(legacy|modern)\b/gi

const pages = globSync(
  ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'docs/*.md', 'adapters/**/*.md'],
  { cwd: root },
).toSorted()

describe('the language of the documentation', () => {
  it('finds the pages', () => {
    expect(pages).to.include.members(['README.md', 'SECURITY.md', 'docs/gateway.md'])
  })

  for (const page of pages) {
    const sentences = sentencesOf(readFileSync(join(root, page), 'utf8'))

    it(`keeps the sentences of ${page} to ${maxWords} words`, () => {
      const long = sentences.filter(({ text }) => countWords(text) > maxWords)
      expect(long.map(({ line, text }) => `${page}:${line}: ${text}`)).to.deep.equal([])
    })

    it(`uses plain words in ${page}`, () => {
      const found = sentences.flatMap(({ line, text }) =>
        Array.from(
          [...text.matchAll(avoided), ...text.matchAll(oldTransportNames)],
          ([phrase]) => `${page}:${line}: "${phrase}" in: ${text}`,
        ),
      )
      expect(found).to.deep.equal([])
    })
  }

  it('names files that exist in docs/architecture.md and docs/contributing.md', () => {
    for (const page of ['docs/architecture.md', 'docs/contributing.md']) {
      const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```[^]*?^```/gm, '')
      const paths = Array.from(
        text.matchAll(/`([\w./-]+\/(?:[\w.-]+\.(?:ts|py))?)`/g),
        at => at[1]!,
      ).filter(path => path !== 'dist/' && !path.includes('NAME'))
      expect(paths).to.have.length.greaterThan(10)
      const missing = paths.filter(
        path => !nearby.some(folder => existsSync(join(root, folder, path))),
      )
      expect(missing, page).to.deep.equal([])
    }
  })
})

/** The pages name paths from here: the top, the sources, or a server's folder beside the sentence. */
const nearby = [
  '.',
  'page',
  'src',
  'src/server',
  'src/server/accounts',
  'src/server/gateway',
  'src/server/mcp',
  'src/lib/mcp',
]

/** In comments and messages, too, sentences have a subject that a reader can name. */
const namelessSubjects =
  /\b(whoever|nobody|somebody|anybody|everybody|asks? nothing|registry folders?|live link)\b/gi

describe('the language of the sources', () => {
  it('names its subjects', () => {
    const found = globSync('src/**/*.ts', { cwd: root }).flatMap(file =>
      Array.from(
        readFileSync(join(root, file), 'utf8').matchAll(namelessSubjects),
        ([phrase]) => `${file}: "${phrase}"`,
      ),
    )
    expect(found).to.deep.equal([])
  })
})

describe('the language of the help texts', () => {
  it('uses plain words', async () => {
    const commands = await loadCommands(commandNames)
    const found = Object.entries(commands).flatMap(([name, command]) =>
      textsOf(command).flatMap(text =>
        Array.from(text.matchAll(avoided), ([phrase]) => `${name}: "${phrase}" in: ${text}`),
      ),
    )
    expect(found).to.deep.equal([])
  })
})

type Commands = Awaited<ReturnType<typeof loadCommands>>

function textsOf(command: Commands[string]): string[] {
  const parts = [...Object.values(command.flags ?? {}), ...Object.values(command.args ?? {})]
  const examples = (command.examples ?? []).map(each =>
    typeof each === 'string' ? each : each.description,
  )
  const texts = [command.summary, command.description, ...examples]
  for (const { description } of parts) texts.push(description)
  return texts.filter(text => text !== undefined)
}

/** One sentence of a Markdown page, and the line its paragraph starts at. */
interface Sentence {
  readonly line: number
  readonly text: string
}

/**
 * Returns the sentences of a Markdown page, without code blocks and HTML tags. A code span counts as
 * one word, a link as its text. Every table cell is a separate block.
 */
function sentencesOf(markdown: string): Sentence[] {
  const sentences: Sentence[] = []
  for (const { line, text, isCell } of blocksOf(markdown)) {
    // cells hold notes rather than prose: there a semicolon ends one
    const end = isCell ? /(?<=[.!?;:][")*]*)\s+/ : /(?<=[.!?][")*]*)\s+/
    for (const part of text.split(end)) if (part !== '') sentences.push({ line, text: part })
  }
  return sentences
}

function countWords(sentence: string): number {
  return sentence.split(/\s+/).filter(word => /[\p{L}\p{N}]/u.test(word)).length
}

interface Block {
  readonly line: number
  readonly text: string
  readonly isCell: boolean
}

/** Paragraphs, headings, list items and table cells. */
function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = []
  let paragraph: string[] = []
  let start = 0
  let fence = ''
  const flush = () => {
    const text = plain(paragraph.join(' '))
    if (text !== '') blocks.push({ line: start, text, isCell: false })
    paragraph = []
  }
  markdown.split('\n').forEach((raw, index) => {
    const text = raw.trim()
    const [, ticks = ''] = /^(```+)/.exec(text) ?? []
    if (fence !== '' || ticks !== '') {
      flush()
      if (fence === '') fence = ticks
      else if (text === fence) fence = ''
    } else if (raw.startsWith('    ') && paragraph.length === 0) {
      // an indented code block
    } else if (text.startsWith('|')) {
      flush()
      for (const cell of text.split(/(?<!\\)\|/)) {
        blocks.push({ line: index + 1, text: plain(cell), isCell: true })
      }
    } else {
      const [, mark = '', rest = ''] = /^((?:[-*>] |\d+\. |#+ )?)(.*)$/.exec(text) ?? []
      if (text === '' || mark !== '') flush()
      if (paragraph.length === 0) start = index + 1
      if (rest !== '') paragraph.push(rest)
      if (mark.startsWith('#')) flush()
    }
  })
  flush()
  return blocks
}

function plain(text: string): string {
  return text
    .replaceAll(/(`+).+?\1/g, '`code`')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/<\/?\w[^>]*>/g, '')
    .replaceAll(/\b(e\.g|i\.e|etc|vs)\. /g, '$1 ')
    .trim()
}
