import { expect } from 'chai'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../helpers/program.ts'

const file = join(root, 'SECURITY.md')

describe('SECURITY.md', () => {
  it('names tests that are there', () => {
    const [, section = ''] = readFileSync(file, 'utf8').split('## What is defended')
    const rows = section.split('\n## ')[0]?.match(/^\| .+ \|$/gm) ?? []
    const named = rows.map(row =>
      Array.from(
        row
          .split('|')
          .at(-2)
          ?.matchAll(/`(.+?)`/g) ?? [],
      ),
    )
    expect(named.flat()).to.have.length.greaterThan(60)
    for (const names of named) {
      let folder = ''
      for (const [, name = ''] of names) {
        if (name.includes('/')) folder = dirname(name)
        const path = name.includes('/') ? name : `${folder}/${name}`
        expect(globSync(`${path}.test.ts`, { cwd: join(root, 'test') }), path).not.to.deep.equal([])
      }
    }
  })
})
