import { expect } from 'chai'
import { isDead, parseOwner } from '../../../src/lib/instances/instance.ts'

describe('isDead', () => {
  const owner = (pidStart: string | null) => ({ pid: 1, pidStart, hostname: 'h' })
  for (const [recorded, running, now, dead] of [
    [null, false, null, true],
    ['a', false, null, true],
    ['a', true, 'a', false],
    ['a', true, 'b', true],
    ['a', true, null, false],
    [null, true, 'b', false],
  ] as const) {
    it(`is ${dead} for a start ${recorded}, running ${running}, started ${now}`, () => {
      expect(isDead(owner(recorded), running, now)).to.equal(dead)
    })
  }
})

describe('parseOwner', () => {
  for (const [changes, read] of [
    [{}, true],
    [{ pid_start: 'b:1' }, true],
    [{ schema_version: 2 }, false],
    [{ schema_version: '1' }, false],
    [{ instance_id: 'other' }, false],
    [{ hostname: null }, false],
    [{ pid: 0 }, false],
    [{ pid: -1 }, false],
    [{ pid: 1.5 }, false],
    [{ pid: '1' }, false],
  ] as const) {
    it(`${read ? 'reads' : 'refuses'} a record with ${JSON.stringify(changes)}`, () => {
      const record = { schema_version: 1, instance_id: 'id', pid: 7, hostname: 'h', ...changes }
      expect(parseOwner(JSON.stringify(record), 'id') !== null).to.equal(read)
    })
  }

  it('reads no owner from what is not a record', () => {
    for (const text of ['', 'null', '[]', '{}', '['.repeat(5000)]) {
      expect(parseOwner(text, 'id')).to.equal(null)
    }
  })
})
