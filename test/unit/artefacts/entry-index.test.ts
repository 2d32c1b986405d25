import { expect } from 'chai'
import fc from 'fast-check'
import type { Entry } from '../../../src/server/artefacts/entry.ts'
import { EntryIndex } from '../../../src/server/artefacts/entry-index.ts'
import { encodeCursor, parseCursor } from '../../../src/server/artefacts/listing.ts'
import { laterExpiry, selectEvictions } from '../../../src/server/artefacts/expiry.ts'
import type { ArtefactRef } from '../../../src/server/artefacts/store.ts'

function entry(number: number, createdMs: number): Entry {
  const hex = number.toString(16).padStart(64, '0').split('').toReversed().join('')
  const ref = {} as ArtefactRef
  const rest = {
    ref,
    heavy: false,
    sizeDisputed: false,
    sidecarBytes: 1,
    key: '',
    expiresMs: Infinity,
  }
  return { hex, bytes: number, createdMs, ...rest }
}

const anEntry = fc.tuple(fc.integer({ min: 0, max: 120 }), fc.integer({ min: 0, max: 5 }))
const change = fc.record({ isPut: fc.boolean(), of: fc.array(anEntry, { maxLength: 80 }) })

describe('entry index', () => {
  it('stays ordered, complete and counted through any changes', () => {
    const property = fc.property(fc.array(change, { maxLength: 12 }), changes => {
      const index = new EntryIndex()
      const model = new Map<string, Entry>()
      for (const { isPut, of } of changes) {
        const entries = new Map(of.map(([number, at]) => [number, entry(number, at)]))
        const given = [...entries.values()]
        if (isPut) index.put(given)
        else index.remove(given.map(each => each.hex))
        for (const each of given) {
          if (isPut) model.set(each.hex, each)
          else model.delete(each.hex)
        }
      }
      const expected = [...model.values()].sort(
        (left, right) => right.createdMs - left.createdMs || (left.hex < right.hex ? -1 : 1),
      )
      expect(index.ordered).to.deep.equal(expected)
      expect(index.totalBytes).to.equal(expected.reduce((sum, each) => sum + each.bytes, 0))
      for (const each of expected) expect(index.get(each.hex)).to.equal(each)
    })
    fc.assert(property, { numRuns: 200 })
  })

  it('reads back its cursors', () => {
    for (const createdMs of [0, -1, 1_900_000_000_000]) {
      const { hex } = entry(7, createdMs)
      expect(parseCursor(encodeCursor({ hex, createdMs }))).to.deep.equal({ hex, createdMs })
    }
  })
})

describe('artefact bounds', () => {
  const stored = [1, 2, 3, 4].map(bytes => ({ hex: `n${bytes}`, bytes }))
  const cases: [string, number, number, string | null, string[]][] = [
    ['within both', 10, 4, null, []],
    ['too many bytes', 9, 4, null, ['n4']],
    ['far too many bytes', 3, 4, null, ['n4', 'n3']],
    ['too many entries', 10, 1, null, ['n4', 'n3', 'n2']],
    ['the oldest was just stored', 9, 4, 'n4', ['n3']],
    ['no bounds', Infinity, Infinity, null, []],
  ]
  for (const [name, maxBytes, maxEntries, keep, expected] of cases) {
    it(`evicts ${expected.length} when ${name}`, () => {
      const chosen = selectEvictions(
        stored,
        { bytes: 10, count: 4 },
        { maxBytes, maxEntries },
        keep,
      )
      expect(chosen.map(each => each.hex)).to.deep.equal(expected)
    })
  }

  const at = (second: number) => `2030-01-01T00:00:0${second}.000Z`
  const expiries: [string | null, string | null, number, string | null][] = [
    // previous (made at 0 s), next (made at 1 s), time to live, result
    [at(5), at(3), 1000, at(5)],
    [at(3), at(5), 1000, at(5)],
    [at(5), null, 1000, at(5)],
    [at(3), null, 9000, null],
    [null, at(3), 5000, at(5)],
    [null, at(3), 0, null],
    [null, null, 1000, null],
  ]
  for (const [previous, next, ttlMs, expected] of expiries) {
    it(`makes ${expected} of ${previous} and ${next} with a time to live of ${ttlMs} ms`, () => {
      const before = { created_at: at(0), expires_at: previous } as ArtefactRef
      const after = { created_at: at(1), expires_at: next }
      expect(laterExpiry(before, after, ttlMs)).to.equal(expected)
    })
  }
})
