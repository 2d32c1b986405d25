import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { defaultLockWaitMs } from '../../../src/lib/config/config-store.ts'
import { defaultClientLimits } from '../../../src/lib/accounts/client-limits.ts'

const document = readFileSync(new URL('../../../docs/limits.md', import.meta.url), 'utf8')
const units: Readonly<Record<string, number>> = { s: 1000, min: 60_000, MiB: 1024 * 1024 }

describe('docs/limits.md, client of a registry', () => {
  const rows = Array.from(
    document.matchAll(/^\| `client\.(\w+)` \| (\d+) ?(\w*) \|/gm),
    ([, name = '', number, unit = '']) => [name, Number(number) * (units[unit] ?? 1)] as const,
  )

  it('states every bound with its default', () => {
    expect(Object.fromEntries(rows)).to.deep.equal(defaultClientLimits)
  })

  it('states the wait for the lock', () => {
    expect(document).to.include(
      `| wait for the lock of the configuration | ${defaultLockWaitMs / 1000} s |`,
    )
  })
})
