import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { adminLimits } from '../../../../src/server/accounts/admin-limits.ts'

const document = readFileSync(new URL('../../../../docs/limits.md', import.meta.url), 'utf8')
const units: Readonly<Record<string, number>> = { s: 1000, days: 86_400_000 }

describe('docs/limits.md, administration of a registry', () => {
  it('states every bound with its range', () => {
    const rows = Array.from(
      document.matchAll(/^\| `admin\.(\w+)` \| (\d+) (\w+)(?:, (\d+) to (\d+))? \|/gm),
      ([, name = '', usual, unit = '', least, most]) => {
        const bound =
          least === undefined
            ? Number(usual) * (units[unit] ?? 1)
            : { least: Number(least), usual: Number(usual), most: Number(most) }
        return [name, bound] as const
      },
    )
    expect(Object.fromEntries(rows)).to.deep.equal(adminLimits)
  })
})
