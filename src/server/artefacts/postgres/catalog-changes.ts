import type { Database, Queries } from '../../database/pool.ts'
import { boundOf, expiryMs, selectEvictions } from '../expiry.ts'
import type { ArtefactRef } from '../store.ts'
import {
  asUnavailable,
  bornMs,
  type CatalogLimits,
  type CatalogRow,
  channel,
  columns,
  refOf,
} from './rows.ts'

export interface CatalogPut {
  readonly hex: string
  /** What was uploaded and reserved; null: only an artefact that is there already is renewed. */
  readonly object: string | null
  /** An object that the bucket does not have any more. */
  readonly lost: string | null
  /** The reference to store; `previous` is what is stored of the same bytes. */
  describe(previous: ArtefactRef | null): ArtefactRef
}

export interface CatalogPutResult {
  readonly ref: ArtefactRef
  readonly existed: boolean
  /** The artefact has the object that was uploaded. */
  readonly isUsed: boolean
  /** More have to go than in one transaction. */
  readonly isFull: boolean
}

interface Totals {
  entries: number
  bytes: number
  change: number
}

/** The object of a removed artefact stays so long, for those who have it open. */
const graceMs = 15 * 60 * 1000
/** Rows of one transaction at most, so that others do not wait long. */
const batch = 500

const findAny = `SELECT ${columns}, size_bytes AS size FROM artefacts WHERE hex = $1`
const lockTotals = 'SELECT entries, bytes, change FROM artefact_totals FOR UPDATE'
const setTotals = 'UPDATE artefact_totals SET entries = $1, bytes = $2, change = $3'
const tell = `SELECT pg_notify('${channel}', '')`
const write = `INSERT INTO artefacts (hex, object, size_bytes, created_at_ms, expires_at_ms, mime,
    session_id, tool_call_id, job_id, correlation_id, sidecar, change)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
  ON CONFLICT (hex) DO UPDATE SET object = excluded.object, size_bytes = excluded.size_bytes,
    created_at_ms = excluded.created_at_ms, expires_at_ms = excluded.expires_at_ms,
    mime = excluded.mime, session_id = excluded.session_id, tool_call_id = excluded.tool_call_id,
    job_id = excluded.job_id, correlation_id = excluded.correlation_id,
    sidecar = excluded.sidecar, change = excluded.change`
const drop = `DELETE FROM artefacts WHERE hex = ANY($1) RETURNING hex, object, size_bytes AS size`
const leave = `INSERT INTO artefact_objects (object, hex, due_ms, change)
  SELECT object, hex, $3, $4 FROM unnest($1::text[], $2::text[]) AS gone (object, hex)`
const use = 'DELETE FROM artefact_objects WHERE object = $1 AND NOT is_taken'
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

  /** Runs one change after the other, over all servers. A null of `action` means no change. */
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
        await queries.rows(tell)
        return value
      })
      .catch(asUnavailable)
  }

  /** The oldest ones, of which `batch` go at most. Returns how many. `keep` was stored just now. */
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
     * Stores the artefact, or renews what is there of it, and removes the oldest ones beyond the
     * bounds, some at most. Null, and no change, when `object` is null and nothing is there, or when the sweep has
     * taken the object.
     */
    put: ({ hex, object, lost, describe }: CatalogPut, nowMs: number) =>
      change<CatalogPutResult>('the artefact was not stored', async (queries, totals) => {
        const known = await queries.row<CatalogRow & { size: number }>(findAny, hex)
        const found = known === null || known.object === lost ? null : refOf(known)
        const isLive = found !== null && expiryMs(found, limits.artefactTtlMs) > nowMs
        const previous = isLive ? found : null
        if (previous === null && object === null) return null
        if (previous === null) {
          if ((await queries.change(use, object)) === 0) return null
          if (known !== null) {
            const due = nowMs + graceMs
            await queries.change(leave, [known.object], [hex], due, totals.change)
          }
        }
        const ref = describe(previous)
        const kept = previous === null ? object : (known?.object ?? null)
        await queries.change(write, hex, kept, ...rowOf(ref), totals.change)
        totals.entries += known === null ? 1 : 0
        totals.bytes += ref.size_bytes - (known?.size ?? 0)
        await evict(queries, totals, hex, nowMs)
        const isFull = !isWithin(totals)
        return { ref, existed: previous !== null, isUsed: previous === null, isFull }
      }),

    /** With `object`: only while the artefact has that one. The object goes after `keepMs`. */
    async remove(hex: string, nowMs: number, object?: string, keepMs = graceMs): Promise<boolean> {
      const removed = await change('the artefact was not removed', async (queries, totals) => {
        const known = await queries.row<CatalogRow>(findAny, hex)
        if (known === null || (object !== undefined && known.object !== object)) return null
        return removeRows(queries, totals, [hex], nowMs + keepMs)
      })
      return removed !== null
    },

    /** Removes what is expired or beyond the bounds, in small transactions. */
    async clean(nowMs: number): Promise<void> {
      const born = bornMs(nowMs, limits)
      for (let removed = batch; removed === batch;) {
        const what = 'what is expired was not removed'
        const gone = await change(what, async (queries, totals) => {
          const rows = await queries.rows<{ hex: string }>(expired, nowMs, born)
          if (rows.length === 0) return null
          const hashes = rows.map(({ hex }) => hex)
          return removeRows(queries, totals, hashes, nowMs + graceMs)
        })
        removed = gone ?? 0
      }
      for (let isBeyond: true | null = true; isBeyond !== null;) {
        const what = 'what is beyond the bounds was not removed'
        isBeyond = await change(what, async (queries, totals) =>
          (await evict(queries, totals, '', nowMs)) > 0 ? true : null,
        )
      }
    },
  }
}

async function removeRows(
  queries: Queries,
  totals: Totals,
  hashes: readonly string[],
  dueMs: number,
): Promise<number> {
  const gone = await queries.rows<{ hex: string; object: string; size: number }>(drop, hashes)
  const objects = gone.map(({ object }) => object)
  await queries.change(
    leave,
    objects,
    gone.map(({ hex }) => hex),
    dueMs,
    totals.change,
  )
  totals.entries -= gone.length
  totals.bytes -= gone.reduce((sum, { size }) => sum + size, 0)
  return gone.length
}

/** The columns from `size_bytes` to `sidecar`. */
function rowOf(ref: ArtefactRef) {
  const { size_bytes, created_at, expires_at, mime, session_id, tool_call_id, job_id } = ref
  return [
    ...[size_bytes, Date.parse(created_at), expires_at === null ? null : Date.parse(expires_at)],
    ...[mime, session_id, tool_call_id, job_id, ref.correlation_id, JSON.stringify(ref)],
  ] as const
}
