import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { defaultClientLimits } from '../../../src/host-client.ts'

const units: Record<string, number> = { KiB: 1024, MiB: 1024 ** 2, s: 1000, min: 60_000 }

describe('defaultClientLimits', () => {
  it('are those of the table in docs/library.md', () => {
    const document = readFileSync(new URL('../../../docs/library.md', import.meta.url), 'utf8')
    const rows = document.matchAll(/^\| `(\w+)` \| (\d+)(?: (\w+))? \|/gm)
    const stated = Array.from(rows, ([, name = '', number, unit = '']) => [
      name,
      Number(number) * (units[unit] ?? 1),
    ])
    expect(Object.fromEntries(stated)).to.deep.equal(defaultClientLimits)
  })
})
