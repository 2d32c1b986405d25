import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { checkLimits, defaultLimits } from '../../../src/lib/config/limits.ts'
import { McpHttpServer } from '../../../src/server/mcp/mcp-http-server.ts'

const document = readFileSync(new URL('../../../docs/limits.md', import.meta.url), 'utf8')

const units: Readonly<Record<string, number>> = {
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  s: 1000,
  h: 3_600_000,
  days: 86_400_000,
}

/** The value in the unit of the limit's name; words such as "sessions" count as 1. */
function valueOf(text = ''): number {
  const [number = '', unit = ''] = text.split(' ')
  return Number(number) * (units[unit] ?? 1)
}

describe('docs/limits.md', () => {
  it('has one row for every limit, with its default', () => {
    const rows = document.matchAll(/^\| `(\w+)` \| (\d[^|]*?) \| [^|]{10,}\|$/gm)
    const documented = Array.from(rows, ([, name, text]) => [name, valueOf(text)])
    const accessTokenMs = 24 * 3_600_000
    const limits = Object.entries({ ...defaultLimits, accessTokenMs })
    expect(documented).to.have.deep.members(limits)
  })
})

describe('checkLimits', () => {
  it('returns the given limits without undefined ones', () => {
    const given = { maxSessions: 5, maxArtefactBytes: 0, pageSize: undefined }
    expect(checkLimits(given)).to.deep.equal({ maxSessions: 5, maxArtefactBytes: 0 })
    expect(checkLimits()).to.deep.equal({})
  })

  const wrong: [string, object][] = [
    ['an unknown name', { maxSession: 1 }],
    ['a negative number', { maxSessions: -1 }],
    ['a fraction', { maxSessions: 1.5 }],
    ['an empty page', { pageSize: 0 }],
    ['a time that no timer can wait', { captureMs: 2 ** 31 }],
  ]
  for (const [what, limits] of wrong) {
    it(`refuses ${what}`, () => {
      const [name = ''] = Object.keys(limits)
      expect(() => checkLimits(limits)).to.throw(TypeError, name)
      expect(() => new McpHttpServer({ limits })).to.throw(TypeError, name)
    })
  }
})
