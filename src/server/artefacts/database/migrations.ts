import { hash } from 'node:crypto'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Database, Queries } from './pool.ts'

export interface Migration {
  /** 1, 2, 3 … without gaps. */
  readonly number: number
  readonly name: string
  /** Never changed after its release; a further migration changes what it made. */
  readonly sql: string
}

/** A row of the table of migrations. */
interface Applied {
  readonly number: number
  readonly checksum: string
}

const ledger = `CREATE TABLE IF NOT EXISTS service_migrations (
  area TEXT NOT NULL,
  number INTEGER NOT NULL,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  PRIMARY KEY (area, number)
)`

/**
 * Brings the tables of `area` to the newest of `migrations`, each in a transaction of its own, also
 * when several servers start at once. Throws `storage_failed`, and changes nothing more, for tables
 * of a newer version.
 */
export async function migrate(
  database: Database,
  area: string,
  migrations: readonly Migration[],
): Promise<void> {
  const what = `its tables for ${area} cannot be made`
  for (;;) {
    const done = await database.transact(what, async queries => {
      // Not a prepared statement, which would time out while another server migrates.
      await queries.script(
        `SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(hashtext('service_migrations'))`,
      )
      await queries.script(ledger)
      const applied = await readApplied(queries, area)
      checkHistory(applied, migrations, database.name)
      const next = migrations[applied.length]
      if (next === undefined) return true
      await queries.script(next.sql)
      await queries.change(
        'INSERT INTO service_migrations (area, number, name, checksum) VALUES ($1, $2, $3, $4)',
        area,
        next.number,
        next.name,
        checksumOf(next),
      )
      return false
    })
    if (done) return
  }
}

function readApplied(queries: Queries, area: string): Promise<Applied[]> {
  return queries.rows(
    'SELECT number, checksum FROM service_migrations WHERE area = $1 ORDER BY number',
    area,
  )
}

function checkHistory(
  applied: readonly Applied[],
  migrations: readonly Migration[],
  name: string,
): void {
  const wrong = applied.find(({ number, checksum }, at) => {
    const known = migrations[at]
    return known !== undefined && (known.number !== number || checksumOf(known) !== checksum)
  })
  if (applied.length <= migrations.length && wrong === undefined) return
  const found =
    wrong === undefined ? `${applied.length} migrations` : `another migration ${wrong.number}`
  const known = `this version knows ${migrations.length}`
  throw new ServiceError(
    'storage_failed',
    `${name} was made by another version of this program (${found}; ${known})`,
    { hint: 'use the newest version that runs on this database' },
  )
}

function checksumOf({ number, name, sql }: Migration): string {
  return hash('sha256', `${number} ${name}\n${sql}`)
}
