import { expect } from 'chai'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandNames, loadCommands } from '../src/commands/index.ts'
import { countWords, sentencesOf } from './helpers/prose.ts'
import { root } from './helpers/program.ts'

const maxWords = 30

/** Vague subjects, coined words and double negations; each has a plain replacement. */
const avoided =
  /\b(whoever|nobody|somebody|anybody|everybody|of (?:your|its|their|one's) own|is none|asks? nothing|ask nobody|residents?(?! memory)|rooms?|eras?|registry folders?|what it takes|whatever)\b/gi

/** The stateless and session transports have these names only. */
const oldTransportNames = /\b(legacy|modern)\b/gi

const pages = globSync(
  ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'docs/*.md', 'adapters/**/*.md'],
  {
    cwd: root,
  },
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
