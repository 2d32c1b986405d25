import { asUnavailable } from '../database/errors.ts'
import type { Database, Queries } from '../database/pool.ts'
import { boundOf } from '../expiry.ts'
import { encodeCursor, type ParsedFilter, type Position } from '../listing.ts'
import { liveAfterMs, type CatalogLimits, type CatalogRow, columns, maxTimeMs } from './rows.ts'

interface Identity {
  /** Id of the installation, made with the database. */
  readonly storeId: string
  /** Number of artefacts. */
  readonly entries: number
  /** Bytes of all of them. */
  readonly bytes: number
}

interface CatalogPage {
  readonly rows: readonly CatalogRow[]
  /** Cursor of the next page. */
  readonly next: string | undefined
}

interface CatalogNews {
  /** The number of the last change. */
  readonly change: number
  /** Hashes removed after the given change, as long as their objects are kept. */
  readonly removed: readonly string[]
  /** Infinity: nothing expires. */
  readonly earliestExpiryMs: number
}

const isLive = `CASE WHEN expires_at_ms IS NULL THEN created_at_ms > $2 ELSE expires_at_ms > $1 END`
const find = `SELECT ${columns} FROM artefacts WHERE ${isLive} AND hex = $3`
const startingWith = `SELECT hex FROM artefacts WHERE ${isLive} AND hex >= $3 AND hex < $4
  ORDER BY created_at_ms DESC, hex LIMIT $5`
// Adds up the sidecars of a page before it reads them.
const page = `WITH candidates AS (
    SELECT hex, created_at_ms, octet_length(sidecar) AS bytes FROM artefacts
    WHERE ${isLive} AND created_at_ms <= $3 AND (created_at_ms < $3 OR hex > $4)
      AND created_at_ms >= $5
      AND ($6::text IS NULL OR mime = $6) AND ($7::text IS NULL OR session_id = $7)
      AND ($8::text IS NULL OR tool_call_id = $8) AND ($9::text IS NULL OR job_id = $9)
      AND ($10::text IS NULL OR correlation_id = $10)
    ORDER BY created_at_ms DESC, hex LIMIT $11::integer + 1
  ), counted AS (
    SELECT hex, row_number() OVER upto AS place, sum(bytes) OVER upto AS bytes FROM candidates
    WINDOW upto AS (ORDER BY created_at_ms DESC, hex ROWS UNBOUNDED PRECEDING)
  )
  SELECT ${columns}, created_at_ms AS "createdMs",
    (SELECT count(*) FROM candidates) AS found FROM counted JOIN artefacts USING (hex)
  WHERE place <= $11 AND (place = 1 OR counted.bytes <= $12) ORDER BY place`
const members = ['mime', 'session_id', 'tool_call_id', 'job_id', 'correlation_id'] as const

const identity = 'SELECT store_id AS "storeId", entries, bytes FROM artefact_totals'
const lastChange = 'SELECT change FROM artefact_totals'
const removedSince = `SELECT hex FROM artefact_objects WHERE change > $1
  AND NOT EXISTS (SELECT FROM artefacts WHERE artefacts.hex = artefact_objects.hex)`
const ends = `SELECT
  (SELECT min(expires_at_ms) FROM artefacts WHERE expires_at_ms IS NOT NULL) AS dated,
  (SELECT min(created_at_ms) FROM artefacts WHERE expires_at_ms IS NULL) AS oldest`

export function catalogReads(database: Database, limits: CatalogLimits) {
  function run<Value>(action: (queries: Queries) => Promise<Value>): Promise<Value> {
    return database.run('the artefacts were not read', action).catch(asUnavailable)
  }

  async function changeNow(queries: Queries): Promise<number> {
    return (await queries.one<{ change: number }>(lastChange)).change
  }

  return {
    identity: () => run(queries => queries.one<Identity>(identity)),

    find: (hex: string, nowMs: number): Promise<CatalogRow | null> =>
      run(queries => queries.row<CatalogRow>(find, nowMs, liveAfterMs(nowMs, limits), hex)),

    /** Up to `limit` rows after `position`, newest first; fewer when their sidecars are large. */
    async page(
      position: Position | null,
      limit: number,
      { sinceMs, wanted }: ParsedFilter,
      nowMs: number,
    ): Promise<CatalogPage> {
      const values = members.map(name => wanted.find(([member]) => member === name)?.[1] ?? null)
      const rows = await run(queries =>
        queries.rows<CatalogRow & { found: number; createdMs: number }>(
          page,
          nowMs,
          liveAfterMs(nowMs, limits),
          position?.createdMs ?? maxTimeMs,
          position?.hex ?? '',
          Math.max(sinceMs, -maxTimeMs),
          ...values,
          limit,
          limits.maxArtefactPageBytes,
        ),
      )
      const last = rows.at(-1)
      const hasMore = last !== undefined && last.found > rows.length
      return { rows, next: hasMore ? encodeCursor(last) : undefined }
    },

    async startingWith(prefix: string, limit: number, nowMs: number): Promise<string[]> {
      // Greater than every digit.
      const values = [nowMs, liveAfterMs(nowMs, limits), prefix, `${prefix}g`, limit]
      const rows = await run(queries => queries.rows<{ hex: string }>(startingWith, ...values))
      return rows.map(({ hex }) => hex)
    },

    lastChange: () => run(changeNow),

    news: (since: number): Promise<CatalogNews> =>
      run(async queries => {
        const change = await changeNow(queries)
        const isNew = change !== since
        const rows = isNew ? await queries.rows<{ hex: string }>(removedSince, since) : []
        const end = await queries.one<{ dated: number | null; oldest: number | null }>(ends)
        const aged = (end.oldest ?? Infinity) + boundOf(limits.artefactTtlMs)
        const earliestExpiryMs = Math.min(end.dated ?? Infinity, aged)
        return { change, removed: rows.map(({ hex }) => hex), earliestExpiryMs }
      }),
  }
}
