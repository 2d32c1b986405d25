import { expect } from 'chai'
import { idPrefix, lookUpInstance } from '../../../src/server/gateway/instance-query.ts'
import { entry } from '../../helpers/memory-directory.ts'

const ids = [
  'a1b2c3d4-0000-4000-8000-000000000001',
  'a1b2ffff-0000-4000-8000-000000000002',
  'A1B2C3D4-0000-4000-8000-0000000000FF',
]
const dead = 'deadbeef-0000-4000-8000-000000000004'
const entries = [
  ...ids.map(instanceId => entry({ instanceId })),
  entry({ instanceId: dead }, { health: 'dead', reason: 'ended' }),
]

function found(selector: string): unknown {
  const result = lookUpInstance(entries, selector)
  if (result.ok) return result.value.record.instanceId
  if (result.failure.kind !== 'ambiguous') return result.failure.kind
  return result.failure.candidates.map(({ record }) => record.instanceId)
}

describe('lookUpInstance', () => {
  const cases: [selector: string, expected: unknown][] = [
    [ids[0]!, ids[0]],
    [ids[0]!.toUpperCase(), ids[0]],
    [ids[0]!.replaceAll('-', ''), ids[0]],
    ['a1b2f', ids[1]],
    ['A1B2-F', ids[1]],
    ['a-1-b-2-f', ids[1]],
    ['a1b2c3d4-0000-4000-8000-0000000000', [ids[0], ids[2]]],
    ['a1b2c3d4-0000-4000-8000-0000000000f', ids[2]],
    ['a1b2', ids],
    ['a1b2c', [ids[0], ids[2]]],
    ['dead', dead],
    ['deadbeef', dead],
    ['dea', 'too_short'],
    ['d', 'too_short'],
    ['d-e-a', 'too_short'],
    ['', 'none'],
    ['----', 'none'],
    ['0123', 'none'],
    ['xyz', 'none'],
    ['a1b2c3d4-0000-4000-8000-0000000000010', 'none'],
    ['a1b2/c3d4', 'none'],
    ['__proto__', 'none'],
  ]
  for (const [selector, expected] of cases) {
    it(`finds ${JSON.stringify(expected)} by "${selector}"`, () => {
      expect(found(selector)).to.deep.equal(expected)
    })
  }
})

describe('idPrefix', () => {
  it('is the digits of the id, in lower case and without hyphens, and nothing else', () => {
    expect(idPrefix('A1B2-c3')).to.equal('a1b2c3')
    expect(idPrefix('g1')).to.equal(null)
    expect(idPrefix('')).to.equal(null)
    expect(idPrefix('0'.repeat(33))).to.equal(null)
  })
})
