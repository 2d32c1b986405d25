import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { windowCaptureLimits } from '../../../src/server/capture/window-limits.ts'

const document = readFileSync(new URL('../../../docs/limits.md', import.meta.url), 'utf8')
const units: Readonly<Record<string, number>> = { s: 1000, KiB: 1024, MiB: 1024 ** 2 }

describe('docs/limits.md, looking at windows from outside', () => {
  it('states every bound with its value', () => {
    const rows = document.matchAll(/^\| `window\.(\w+)` \| (\d+) (\w+) \|/gm)
    const stated = Array.from(rows, ([, name = '', number, unit = '']) => [
      name,
      Number(number) * (units[unit] ?? 1),
    ])
    expect(Object.fromEntries(stated)).to.deep.equal(windowCaptureLimits)
  })
})
