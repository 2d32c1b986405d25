import { asUnavailable } from '../database/errors.ts'
import type { Database, Queries } from '../database/pool.ts'
import { boundOf, expiryMs, selectEvictions } from '../expiry.ts'
import type { Describe } from '../describe.ts'
import type { ArtefactRef, PutResult } from '../store.ts'
import {
  liveAfterMs,
  type CatalogLimits,
  type CatalogRow,
  channel,
  columns,
  refOf,
} from './rows.ts'

interface CatalogPut {
  readonly hex: string
  /** Bytes. */
  readonly size: number
  /** The reserved and uploaded object; null only renews an artefact that is stored already. */
  readonly object: string | null
  /** An object that is missing in the bucket: an artefact with it is replaced. */
  readonly lost: string | null
  readonly describe: Describe
}

export interface CatalogPutResult extends PutResult {
  /** More have to go than one transaction removes. */
  readonly isFull: boolean
}

interface Totals {
  entries: number
  bytes: number
  change: number
}

/** How long the object of a removed artefact stays, for clients that are reading it. */
const graceMs = 15 * 60 * 1000
/** Rows of one transaction, so that others do not wait long. */
const batch = 500

const findAny = `SELECT ${columns}, size_bytes AS size FROM artefacts WHERE hex = $1`
const lockTotals = 'SELECT entries, bytes, change FROM artefact_totals FOR UPDATE'
const setTotals = 'UPDATE artefact_totals SET entries = $1, bytes = $2, change = $3'
const notify = `SELECT pg_notify('${channel}', '')`
const write = `INSERT INTO artefacts (hex, object, size_bytes, created_at_ms, expires_at_ms, mime,
    session_id, tool_call_id, job_id, correlation_id, sidecar, change)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
  ON CONFLICT (hex) DO UPDATE SET object = excluded.object, size_bytes = excluded.size_bytes,
    created_at_ms = excluded.created_at_ms, expires_at_ms = excluded.expires_at_ms,
    mime = excluded.mime, session_id = excluded.session_id, tool_call_id = excluded.tool_call_id,
    job_id = excluded.job_id, correlation_id = excluded.correlation_id,
    sidecar = excluded.sidecar, change = excluded.change`
const remove = `DELETE FROM artefacts WHERE hex = ANY($1) RETURNING hex, object, size_bytes AS size`
const release = `INSERT INTO artefact_objects (object, hex, due_ms, change)
  SELECT object, hex, $3, $4 FROM unnest($1::text[], $2::text[]) AS gone (object, hex)`
const claim = 'DELETE FROM artefact_objects WHERE object = $1 AND NOT is_taken'
const oldest = `SELECT hex, size_bytes AS bytes FROM artefacts WHERE hex <> $1
  ORDER BY created_at_ms, hex DESC LIMIT ${batch}`
const expired = `SELECT hex FROM artefacts WHERE expires_at_ms <= $1
  OR (expires_at_ms IS NULL AND created_at_ms <= $2) LIMIT ${batch}`

export function catalogChanges(database: Database, limits: CatalogLimits) {
  const bounds = {
    maxBytes: boundOf(limits.maxArtefactTotalBytes),
    maxEntries: boundOf(limits.maxArtefacts),
  }
  const isWithin = ({ bytes, entries }: Totals) =>
    bytes <= bounds.maxBytes && entries <= bounds.maxEntries

  /** Runs one change at a time across all servers. `action` returns null when it changed nothing. */
  function change<Value>(
    what: string,
    action: (queries: Queries, totals: Totals) => Promise<Value | null>,
  ): Promise<Value | null> {
    return database
      .transact(what, async queries => {
        const totals = await queries.one<Totals>(lockTotals)
        totals.change++
        const value = await action(queries, totals)
        if (value === null) return null
        await queries.change(setTotals, totals.entries, totals.bytes, totals.change)
        await queries.rows(notify)
        return value
      })
      .catch(asUnavailable)
  }

  /** Removes the oldest artefacts beyond the bounds, `batch` at most. Returns how many. */
  async function evict(
    queries: Queries,
    totals: Totals,
    keep: string,
    nowMs: number,
  ): Promise<number> {
    if (isWithin(totals)) return 0
    const rows = await queries.rows<{ hex: string; bytes: number }>(oldest, keep)
    const total = { bytes: totals.bytes, count: totals.entries }
    const chosen = selectEvictions(rows.toReversed(), total, bounds).map(({ hex }) => hex)
    if (chosen.length === 0) return 0
    return removeRows(queries, totals, chosen, nowMs + graceMs)
  }

  return {
    /**
     * Stores the artefact with `object`, or renews the one that existed with the object it has.
     * Removes the oldest ones beyond the bounds, some at most. Null, and no change, when there is
     * nothing to renew and `object` is null or was taken by the sweep.
     */
    put: ({ hex, size, object, lost, describe }: CatalogPut, nowMs: number) =>
      change<CatalogPutResult>('the artefact was not stored', async (queries, totals) => {
        const known = await queries.row<CatalogRow & { size: number }>(findAny, hex)
        const isLive = (row: CatalogRow) => expiryMs(refOf(row), limits.artefactTtlMs) > nowMs
        const live = known !== null && known.object !== lost && isLive(known) ? known : null
        if (live === null) {
          if (object === null || (await queries.change(claim, object)) === 0) return null
          if (known !== null) {
            const dueMs = nowMs + graceMs
            await queries.change(release, [known.object], [hex], dueMs, totals.change)
          }
        }
        const ref = describe({ hex, size, previous: live && refOf(live) })
        await queries.change(write, hex, live?.object ?? object, ...rowOf(ref), totals.change)
        totals.entries += known === null ? 1 : 0
        totals.bytes += ref.size_bytes - (known?.size ?? 0)
        await evict(queries, totals, hex, nowMs)
        return { ref, existed: live !== null, isFull: !isWithin(totals) }
      }),

    /** With `object`, only while the artefact has it. The object is removed after `keepMs`. */
    async remove(hex: string, nowMs: number, object?: string, keepMs = graceMs): Promise<boolean> {
      const removed = await change('the artefact was not removed', async (queries, totals) => {
        const known = await queries.row<CatalogRow>(findAny, hex)
        if (known === null || (object !== undefined && known.object !== object)) return null
        return removeRows(queries, totals, [hex], nowMs + keepMs)
      })
      return removed !== null
    },

    /** Removes expired artefacts and those beyond the bounds, in small transactions. */
    async clean(nowMs: number): Promise<void> {
      const liveAfter = liveAfterMs(nowMs, limits)
      for (let removed = batch; removed === batch;) {
        const gone = await change('expired artefacts were not removed', async (queries, totals) => {
          const rows = await queries.rows<{ hex: string }>(expired, nowMs, liveAfter)
          if (rows.length === 0) return null
          const hashes = rows.map(({ hex }) => hex)
          return removeRows(queries, totals, hashes, nowMs + graceMs)
        })
        removed = gone ?? 0
      }
      for (let removed: number | null = batch; removed !== null;) {
        const what = 'artefacts beyond the bounds were not removed'
        removed = await change(
          what,
          async (queries, totals) => (await evict(queries, totals, '', nowMs)) || null,
        )
      }
    },
  }
}

async function removeRows(
  queries: Queries,
  totals: Totals,
  hashes: string[],
  dueMs: number,
): Promise<number> {
  const gone = await queries.rows<{ hex: string; object: string; size: number }>(remove, hashes)
  const [objects, hexes] = [gone.map(({ object }) => object), gone.map(({ hex }) => hex)]
  await queries.change(release, objects, hexes, dueMs, totals.change)
  totals.entries -= gone.length
  totals.bytes -= gone.reduce((sum, { size }) => sum + size, 0)
  return gone.length
}

/** The columns from `size_bytes` to `sidecar`. */
function rowOf(ref: ArtefactRef) {
  const { size_bytes, created_at, expires_at, mime, session_id, tool_call_id, job_id } = ref
  return [
    size_bytes,
    Date.parse(created_at),
    expires_at === null ? null : Date.parse(expires_at),
    mime,
    session_id,
    tool_call_id,
    job_id,
    ref.correlation_id,
    JSON.stringify(ref),
  ] as const
}
