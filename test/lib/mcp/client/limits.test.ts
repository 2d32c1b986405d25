import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import {
  defaultMcpClientLimits,
  resolveMcpClientLimits,
} from '../../../../src/lib/mcp/client/limits.ts'

const document = readFileSync(new URL('../../../../docs/limits.md', import.meta.url), 'utf8')
const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, MiB: 1024 ** 2 }

describe('docs/limits.md, looking from the terminal', () => {
  it('states every bound with its default', () => {
    const rows = document.matchAll(/^\| `mcp\.(\w+)` \| (\d+) (\w+) \|/gm)
    const stated = Array.from(rows, ([, name = '', number, unit = '']) => [
      name,
      Number(number) * (units[unit] ?? 1),
    ])
    expect(Object.fromEntries(stated)).to.deep.equal(defaultMcpClientLimits)
  })
})

describe('resolveMcpClientLimits', () => {
  for (const wrong of [{ answerMs: 0 }, { connectMs: 2 ** 31 }, { maxPages: 1.5 }, { no: 1 }]) {
    it(`refuses ${JSON.stringify(wrong)}`, () => {
      expect(() => resolveMcpClientLimits(wrong)).to.throw(TypeError, Object.keys(wrong)[0])
    })
  }
})
