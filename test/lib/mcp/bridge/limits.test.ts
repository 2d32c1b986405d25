import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { defaultBridgeLimits, resolveBridgeLimits } from '../../../../src/lib/mcp/bridge/limits.ts'

const document = readFileSync(new URL('../../../../docs/limits.md', import.meta.url), 'utf8')
const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000, MiB: 1024 ** 2 }

describe('docs/limits.md, bridge to stdio', () => {
  it('states every bound with its default', () => {
    const rows = document.matchAll(/^\| `stdio\.(\w+)` \| (\d+) (\w+) \|/gm)
    const stated = Array.from(rows, ([, name = '', number, unit = '']) => [
      name,
      Number(number) * (units[unit] ?? 1),
    ])
    expect(Object.fromEntries(stated)).to.deep.equal(defaultBridgeLimits)
  })
})

describe('resolveBridgeLimits', () => {
  it('replaces what is given', () => {
    expect(resolveBridgeLimits({ finishMs: 7 })).to.deep.equal({
      ...defaultBridgeLimits,
      finishMs: 7,
    })
  })

  for (const wrong of [
    { finishMs: 0 },
    { finishMs: 2 ** 31 },
    { maxRequests: 1.5 },
    { nothing: 1 },
  ]) {
    it(`refuses ${JSON.stringify(wrong)}`, () => {
      expect(() => resolveBridgeLimits(wrong)).to.throw(TypeError, Object.keys(wrong)[0])
    })
  }
})
