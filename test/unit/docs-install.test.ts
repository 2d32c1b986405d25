import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { expect } from 'chai'
import { root } from '../helpers/program.ts'

/** Fetches whatever somebody has published under that name. */
const fromRegistry =
  /\bnpx (?:-\S+ )*service-cli\b|\bnpm (?:i|install|add|exec)\b(?: -\S+)* service-cli(?=[\s`'"@)]|$)/

describe('what readers are told to run', () => {
  it('installs no package of that name from a registry while it is not published', async () => {
    const patterns = ['*.md', 'docs/*.md', 'adapters/**/*.{md,py}', 'src/**/*.ts']
    const found: string[] = []
    for await (const file of glob(patterns, { cwd: root })) {
      const lines = readFileSync(`${root}/${file}`, 'utf8').split('\n')
      lines.forEach((line, at) => fromRegistry.test(line) && found.push(`${file}:${at + 1}`))
    }
    expect(found).to.deep.equal([])
  })
})
