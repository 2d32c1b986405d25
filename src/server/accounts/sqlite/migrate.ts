import { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../../lib/util/time.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import { type Applied, checksumOf, type Migration } from '../../database/migrations.ts'
import { applicationId } from './schema.ts'

/** Why the schema of a file cannot be worked with: what is wrong, and what to do. */
export interface SchemaProblem {
  readonly what: string
  readonly hint: string
}

const ledger = `
CREATE TABLE migrations (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at_ms INTEGER NOT NULL
) STRICT`

/** Gives an empty database its first tables; `migrate` gives it the rest. */
export function createLedger(db: DatabaseSync): void {
  db.exec(`PRAGMA application_id = ${applicationId}`)
  db.exec(ledger)
}

/**
 * Brings the database to the newest of `migrations`, all of it or nothing, also when several
 * processes do so at once. Fails, without a change, for what no earlier version of them made.
 */
export function migrate(
  db: DatabaseSync,
  migrations: readonly Migration[],
  clock: Clock,
): Result<number, SchemaProblem> {
  // Nearly always there is nothing to do, and no other process to wait for.
  const found = inspect(db, migrations)
  if (!found.ok || found.value === migrations.length) return found
  return transact(db, 'BEGIN EXCLUSIVE', () => {
    const checked = checkSchema(db, migrations)
    if (!checked.ok) return checked
    for (const migration of migrations.slice(checked.value)) apply(db, migration, clock.now())
    return ok(migrations.length)
  })
}

/** `checkSchema` on one state of a database that others may be bringing to a newer one. */
export function inspect(
  db: DatabaseSync,
  migrations: readonly Migration[],
): Result<number, SchemaProblem> {
  return transact(db, 'BEGIN', () => checkSchema(db, migrations))
}

function transact<Value>(db: DatabaseSync, begin: string, action: () => Value): Value {
  db.exec(begin)
  try {
    const value = action()
    db.exec('COMMIT')
    return value
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/**
 * Checks that the database is exactly what the first ones of `migrations` make. Changes nothing.
 * Returns how many.
 */
export function checkSchema(
  db: DatabaseSync,
  migrations: readonly Migration[],
): Result<number, SchemaProblem> {
  if (isEmpty(db)) {
    const hint = 'restore a backup, or, to begin with an empty registry, move it away'
    return fail({ what: 'it is empty: what was in it is lost', hint })
  }
  const owner = checkOwner(db)
  if (!owner.ok) return owner
  const applied = readApplied(db)
  const history = checkHistory(applied, migrations)
  if (!history.ok) return history
  const same = describeSchema(db) === expectedSchema(migrations.slice(0, applied.length))
  return same ? ok(applied.length) : fail(altered)
}

const altered: SchemaProblem = {
  what: 'its tables were altered by something else than this program',
  hint: 'restore a backup',
}

function apply(db: DatabaseSync, migration: Migration, nowMs: number): void {
  db.exec(migration.sql)
  db.prepare('INSERT INTO migrations VALUES (?, ?, ?, ?)').run(
    migration.number,
    migration.name,
    checksumOf(migration),
    nowMs,
  )
}

function isEmpty(db: DatabaseSync): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
}

function checkOwner(db: DatabaseSync): Result<null, SchemaProblem> {
  const found = Number(db.prepare('PRAGMA application_id').get()?.['application_id'])
  if (found === applicationId) return ok(null)
  return fail({
    what: 'it is a database of something else than this program',
    hint: 'name another folder, or move the file away',
  })
}

/** What was applied must be the beginning of what this program knows. */
export function checkHistory(
  applied: readonly Applied[],
  migrations: readonly Migration[],
): Result<null, SchemaProblem> {
  if (applied.length > migrations.length) {
    const what = `a newer version of this program made it (schema ${applied.length}, this one knows ${migrations.length})`
    return fail({ what, hint: 'use that version, or restore a backup of this one' })
  }
  for (const [at, { number, checksum }] of applied.entries()) {
    const known = migrations[at]
    if (known === undefined || known.number !== number) return fail(altered)
    if (checksumOf(known) === checksum) continue
    const what = `step ${number} of its schema is not the one that this version knows`
    return fail({ what, hint: 'use the version that made it' })
  }
  return ok(null)
}

function readApplied(db: DatabaseSync): Applied[] {
  const there = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").get()
  if (there === undefined) return []
  const rows = db.prepare('SELECT number, checksum FROM migrations ORDER BY number').all()
  return rows.map(row => ({ number: Number(row['number']), checksum: String(row['checksum']) }))
}

/** Tables, indexes, triggers and views as they were written; SQLite's own tables are left out. */
function describeSchema(db: DatabaseSync): string {
  const rows = db.prepare(
    `SELECT type, name, tbl_name, sql FROM sqlite_schema
     WHERE name NOT GLOB 'sqlite_*' ORDER BY type, name`,
  )
  return JSON.stringify(rows.all())
}

function expectedSchema(migrations: Migration[]): string {
  const db = new DatabaseSync(':memory:')
  try {
    db.exec(ledger)
    for (const { sql } of migrations) db.exec(sql)
    return describeSchema(db)
  } finally {
    db.close()
  }
}
