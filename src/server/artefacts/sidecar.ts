import { z } from 'zod'
import { mediaType, name, type sidecar, time } from '../../lib/host-link/messages.ts'
import { artefactUri } from '../../lib/mcp/artefact-uri.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import { maxJsonDepth, parseJson } from '../../lib/util/json.ts'
import { toRfc3339 } from '../../lib/util/time.ts'

const artefactRef = z
  .object({
    /** `artefact://sha256/<hex>` */
    uri: z.string(),
    mime: mediaType,
    size_bytes: z.int().min(0),
    display_name: name.nullable(),
    /** `sha256:<hex>` */
    digest: z.string(),
    session_id: name.nullable(),
    tool_call_id: name.nullable(),
    job_id: name.nullable(),
    correlation_id: name.nullable(),
    /** Of the server that stored it; null when a program did so without a server. */
    instance_id: name.nullable(),
    /** Of the application beside that server. */
    dcc_type: name.nullable(),
    /** RFC 3339 */
    created_at: time,
    /** RFC 3339, or null when only the store's own time to live applies. */
    expires_at: time.nullable(),
    metadata: z.unknown(),
  })
  .readonly()

/** What is known of an artefact beside its bytes. Member names are those on disk and on the wire. */
export type ArtefactRef = z.output<typeof artefactRef>

/** What a caller may say about the bytes it stores. `mime`: default `application/octet-stream`. */
export type ArtefactFields = Partial<z.output<typeof sidecar>> & { mime?: string | undefined }

/** Which server stores an artefact, and for which application. */
export type ArtefactOrigin = Pick<ArtefactRef, 'instance_id' | 'dcc_type'>

/** Levels that the sidecar adds around `metadata`. */
const ownLevels = 2

/** Reads a stored sidecar; null when it is invalid. */
export function parseSidecar(text: string, hex: string): ArtefactRef | null {
  const json = parseJson(text, maxJsonDepth + ownLevels, parseExact)
  const parsed = json.ok ? artefactRef.safeParse(json.value) : null
  return parsed?.success && parsed.data.digest === `sha256:${hex}` ? parsed.data : null
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
export function describePut(fields: ArtefactFields, facts: PutFacts): ArtefactRef {
  const { hex, size, previous, origin, ttlMs } = facts
  const created_at = toRfc3339(facts.nowMs)
  const expires_at = fields.expires_at ?? null
  return Object.freeze({
    uri: artefactUri(hex),
    mime: fields.mime ?? 'application/octet-stream',
    size_bytes: size,
    display_name: fields.display_name ?? null,
    digest: `sha256:${hex}`,
    session_id: fields.session_id ?? null,
    tool_call_id: fields.tool_call_id ?? null,
    job_id: fields.job_id ?? null,
    correlation_id: fields.correlation_id ?? null,
    ...origin,
    created_at,
    expires_at: previous ? laterExpiry(previous, { created_at, expires_at }, ttlMs) : expires_at,
    metadata: fields.metadata ?? null,
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
