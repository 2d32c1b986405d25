import { expect } from 'chai'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../helpers/program.ts'

/** Vague subjects and coined words; each has a plain replacement. */
const avoided =
  /\b(whoever|nobody|somebody|anybody|everybody|asks? nothing|registry folders?|live link)\b/i

/** In pages the two transports have no other names. */
const avoidedInPages = /(?<!`)\b(legacy|modern|whatever)\b/i

const pages = ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'docs/*.md', 'adapters/**/*.md']

/** The pages name paths from here: the top, the sources, or a server's folder beside the sentence. */
const folders = ['.', 'page', 'src', 'src/lib/mcp', 'src/server', 'src/server/accounts']
const nearby = [...folders, 'src/server/gateway', 'src/server/mcp']

function linesWith(words: RegExp, patterns: string[]): string[] {
  return globSync(patterns, { cwd: root }).flatMap(file =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, at) => (words.test(line) ? [`${file}:${at + 1}: ${line}`] : [])),
  )
}

describe('the language of pages and sources', () => {
  it('uses plain words', () => {
    expect(linesWith(avoided, [...pages, 'src/**/*.ts'])).to.deep.equal([])
    expect(linesWith(avoidedInPages, pages)).to.deep.equal([])
  })

  for (const page of ['docs/architecture.md', 'docs/contributing.md']) {
    it(`names files that exist in ${page}`, () => {
      const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```[^]*?^```/gm, '')
      const named = text.matchAll(/`([\w./-]+\/(?:[\w.-]+\.(?:ts|py))?)`/g)
      const paths = Array.from(named, ([, path = '']) => path)
      const missing = paths
        .filter(path => path !== 'dist/' && !path.includes('NAME'))
        .filter(path => !nearby.some(folder => existsSync(join(root, folder, path))))
      expect(missing).to.deep.equal([])
    })
  }
})
