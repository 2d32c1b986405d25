import { expect } from 'chai'
import { DatabaseSync } from 'node:sqlite'
import {
  checkHistory,
  checkSchema,
  createLedger,
  migrate,
} from '../../../src/server/accounts/sqlite/migrate.ts'
import { checksumOf } from '../../../src/server/database/migrations.ts'
import { settableClock } from '../../helpers/settable-clock.ts'

const clock = settableClock()
const first = { number: 1, name: 'first', sql: 'CREATE TABLE a (x TEXT) STRICT' }
const second = {
  number: 2,
  name: 'second',
  sql: 'ALTER TABLE a ADD COLUMN y TEXT; CREATE INDEX i ON a (y)',
}
const failing = {
  number: 2,
  name: 'failing',
  sql: 'CREATE TABLE b (x TEXT); CREATE TABLE b (x TEXT)',
}

function fresh(): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  createLedger(db)
  return db
}

describe('migrate', () => {
  it('applies what is missing, in order, and keeps the rows', () => {
    const db = fresh()
    expect(migrate(db, [first], clock)).to.deep.equal({ ok: true, value: 1 })
    db.exec("INSERT INTO a VALUES ('kept')")
    expect(migrate(db, [first, second], clock)).to.deep.equal({ ok: true, value: 2 })
    expect(migrate(db, [first, second], clock)).to.deep.equal({ ok: true, value: 2 })
    expect({ ...db.prepare('SELECT * FROM a').get() }).to.deep.equal({ x: 'kept', y: null })
    expect(checkSchema(db, [first, second])).to.deep.equal({ ok: true, value: 2 })
  })

  it('changes nothing when a step fails in the middle', () => {
    const db = fresh()
    migrate(db, [first], clock)
    expect(() => migrate(db, [first, failing], clock)).to.throw('already exists')
    expect(checkSchema(db, [first])).to.deep.equal({ ok: true, value: 1 })
  })

  it('leaves what a newer version made as it is', () => {
    const db = fresh()
    migrate(db, [first, second], clock)
    const result = migrate(db, [first], clock)
    expect(result.ok ? '' : result.failure.what).to.contain('newer version')
    expect(checkSchema(db, [first, second]).ok).to.equal(true)
  })

  const known = [first, second]
  const applied = (...steps: (typeof first)[]) =>
    steps.map(step => ({ number: step.number, checksum: checksumOf(step) }))
  const histories: [what: string, history: ReturnType<typeof applied>, failure: RegExp | null][] = [
    ['none', [], null],
    ['the beginning', applied(first), null],
    ['all', applied(first, second), null],
    ['more', applied(first, second, { ...second, number: 3 }), /newer/],
    ['another text', applied({ ...first, sql: 'CREATE TABLE c (x)' }), /step 1/],
    ['another name', applied(first, { ...second, name: 'else' }), /step 2/],
    ['a gap', applied(second), /altered/],
  ]
  for (const [what, history, failure] of histories) {
    it(`${failure === null ? 'accepts' : 'refuses'} a history of ${what}`, () => {
      const result = checkHistory(history, known)
      if (failure === null) expect(result.ok).to.equal(true)
      else expect(result.ok ? '' : result.failure.what).to.match(failure)
    })
  }
})
