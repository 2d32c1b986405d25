import { z } from 'zod'
import { artefactUri } from '../../lib/mcp/uris.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import { maxJsonDepth, parseJson } from '../../lib/util/json.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import { isRfc3339, toRfc3339 } from '../../lib/util/time.ts'
import { isMediaType, isName, type PutFields } from './put-options.ts'

/**
 * What is known of an artefact beside its bytes. Member names are those on disk and on the wire.
 */
export interface ArtefactRef {
  /** `artefact://sha256/<hex>` */
  readonly uri: string
  readonly mime: string
  readonly size_bytes: number
  readonly display_name: string | null
  /** `sha256:<hex>` */
  readonly digest: string
  readonly session_id: string | null
  readonly tool_call_id: string | null
  readonly job_id: string | null
  readonly correlation_id: string | null
  /** Of the server that stored it; null when a program did so without a server. */
  readonly instance_id: string | null
  /** Of the application beside that server. */
  readonly dcc_type: string | null
  /** RFC 3339 */
  readonly created_at: string
  /** RFC 3339, or null when only the store's own time to live applies. */
  readonly expires_at: string | null
  readonly metadata: unknown
}

/** Which server stores an artefact, and for which application. */
export type ArtefactOrigin = Pick<ArtefactRef, 'instance_id' | 'dcc_type'>

const name = z.custom<string>(isName).nullable()
const time = z.custom<string>(isRfc3339)
const sidecar: z.ZodType<ArtefactRef> = z
  .object({
    uri: z.string(),
    mime: z.custom<string>(isMediaType),
    size_bytes: z.int().min(0),
    display_name: name,
    digest: z.string(),
    session_id: name,
    tool_call_id: name,
    job_id: name,
    correlation_id: name,
    instance_id: name,
    dcc_type: name,
    created_at: time,
    expires_at: time.nullable(),
    metadata: z.unknown(),
  })
  .readonly()

/** Levels that the sidecar adds around `metadata`. */
const ownLevels = 2

/** Reads a stored sidecar, which another program may have written. The failure is for the log. */
export function parseSidecar(text: string, hex: string): Result<ArtefactRef, string> {
  const json = parseJson(text, maxJsonDepth + ownLevels, parseExact)
  if (!json.ok) return fail('it is not JSON')
  const parsed = sidecar.safeParse(json.value)
  if (!parsed.success) return fail(`invalid: ${parsed.error.issues[0]?.path.join('.')}`)
  const { data: ref } = parsed
  if (ref.uri === artefactUri(hex) && ref.digest === `sha256:${hex}`) return ok(ref)
  return fail('it is of another artefact')
}

interface PutFacts {
  readonly hex: string
  /** Bytes. */
  readonly size: number
  readonly nowMs: number
  readonly ttlMs: number
  readonly origin: ArtefactOrigin
  /** What is stored of the same bytes; null when it is missing or expired. */
  readonly previous: ArtefactRef | null
}

/** The reference of bytes that are put: the newest metadata, the later expiry. */
export function describePut(fields: PutFields, facts: PutFacts): ArtefactRef {
  const { hex, size, previous, origin, ttlMs } = facts
  const created_at = toRfc3339(facts.nowMs)
  const { expires_at } = fields
  return Object.freeze({
    ...fields,
    ...origin,
    uri: artefactUri(hex),
    size_bytes: size,
    digest: `sha256:${hex}`,
    created_at,
    expires_at: previous ? laterExpiry(previous, { created_at, expires_at }, ttlMs) : expires_at,
  })
}

type Times = Pick<ArtefactRef, 'created_at' | 'expires_at'>

/** Milliseconds since the epoch from which the artefact is no longer served. */
export function expiryMs({ created_at, expires_at }: Times, ttlMs: number): number {
  if (expires_at !== null) return Date.parse(expires_at)
  return ttlMs === 0 ? Infinity : Date.parse(created_at) + ttlMs
}

/**
 * `expires_at` after the same bytes were stored again: the later one of the two, so that no
 * producer shortens what another one was promised. Null stands for the store's time to live.
 */
function laterExpiry(previous: Times, next: Times, ttlMs: number): string | null {
  const before = expiryMs(previous, ttlMs)
  if (before <= expiryMs(next, ttlMs)) return next.expires_at
  return Number.isFinite(before) ? toRfc3339(before) : null
}
