import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { McpHttpServer } from '../../../src/server/mcp/mcp-http-server.ts'
import {
  checkLimits,
  defaultPublicLimits,
  type PublicLimits,
} from '../../../src/lib/config/limits.ts'

const document = readFileSync(new URL('../../../docs/limits.md', import.meta.url), 'utf8')

const units: Readonly<Record<string, number>> = {
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  days: 86_400_000,
}

/** Of `serve` and the gateway, and of the accounts server. */
const kinds = [defaultPublicLimits, { accessTokenMs: 24 * 3_600_000 }]
const all: Readonly<Record<string, number>> = Object.assign({}, ...kinds)

/** Name → what the document says: `| \`name\` | 8 MiB | … |`. */
function documented(): [name: string, text: string][] {
  const rows = document.matchAll(/^\| `(\w+)` \| (\d[^|]*?) \| [^|]{10,}\|$/gm)
  return Array.from(rows, ([, name = '', text = '']) => [name, text])
}

/** The value in the unit of the option's name; words such as "sessions" count as 1. */
function valueOf(text: string): number {
  const [number = '', unit = ''] = text.split(' ')
  return Number(number) * (units[unit] ?? 1)
}

describe('docs/limits.md', () => {
  it('has every name for one bound only', () => {
    const names = kinds.flatMap(limits => Object.keys(limits))
    expect(names.filter((name, at) => names.indexOf(name) !== at)).to.deep.equal([])
  })

  it('has exactly one row for every option', () => {
    const names = documented().map(([name]) => name)
    expect(names.toSorted()).to.deep.equal(Object.keys(all).toSorted())
  })

  for (const [name, text] of documented()) {
    it(`states the default of ${name}: ${text}`, () => {
      expect(valueOf(text)).to.equal(all[name])
    })
  }
})

describe('checkLimits', () => {
  it('returns the given limits without undefined ones', () => {
    const given = { maxSessions: 5, maxArtefacts: 0, pageSize: undefined }
    expect(checkLimits(given as object)).to.deep.equal({ maxSessions: 5, maxArtefacts: 0 })
    expect(checkLimits()).to.deep.equal({})
    expect(Object.isFrozen(defaultPublicLimits)).to.equal(true)
  })

  const wrong: [string, Record<string, unknown>][] = [
    ['an unknown name', { maxSession: 1 }],
    ['a bound that is not public', { linkHelloMs: 1 }],
    ['a negative number', { maxSessions: -1 }],
    ['pages without room', { pageSize: 0 }],
    ['a time that no timer can wait', { captureMs: 2 ** 31 }],
  ]
  for (const [what, overrides] of wrong) {
    it(`refuses ${what}`, () => {
      const [name = ''] = Object.keys(overrides)
      expect(() => checkLimits(overrides as Partial<PublicLimits>)).to.throw(TypeError, name)
      expect(() => new McpHttpServer({ limits: overrides as Partial<PublicLimits> })).to.throw(
        TypeError,
      )
    })
  }

  it('takes the longest times: that of a timer, and longer ones that are only compared', () => {
    const limits = { captureMs: 2 ** 31 - 1, artefactTtlMs: 2 ** 40, sessionIdleMs: 2 ** 40 }
    expect(checkLimits(limits)).to.include(limits)
  })
})
