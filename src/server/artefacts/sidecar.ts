import { artefactUri } from '../../lib/mcp/uris.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import { isJsonObject, maxJsonDepth, parseJson } from '../../lib/util/json.ts'
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

/** Levels that the sidecar adds around `metadata`. */
const ownLevels = 2

const names = [
  'display_name',
  'session_id',
  'tool_call_id',
  'job_id',
  'correlation_id',
  'instance_id',
  'dcc_type',
] as const

/**
 * Reads a stored sidecar. Another program may have written it: every member is checked, unknown ones
 * are left out. The failure is the reason, for the log.
 */
export function parseSidecar(text: string, hex: string): Result<ArtefactRef, string> {
  const parsed = parseJson(text, maxJsonDepth + ownLevels, parseExact)
  if (!parsed.ok || !isJsonObject(parsed.value)) return fail('it is not a JSON object')
  const { value } = parsed
  const { digest, size_bytes: size, mime, created_at: created, expires_at: expires = null } = value
  if (digest !== `sha256:${hex}`) return fail('digest is not that of the file name')
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) {
    return fail('size_bytes is not a size')
  }
  if (!isMediaType(mime)) return fail('mime is not a media type')
  if (!isRfc3339(created)) return fail('created_at is not a time')
  if (expires !== null && !isRfc3339(expires)) return fail('expires_at is not a time')
  const wrong = names.find(name => (value[name] ?? null) !== null && !isName(value[name]))
  if (wrong !== undefined) return fail(`${wrong} is not a name`)
  const nameOf = (name: (typeof names)[number]) => {
    const found = value[name]
    return isName(found) ? found : null
  }
  return ok(
    Object.freeze({
      uri: artefactUri(hex),
      mime,
      size_bytes: size,
      display_name: nameOf('display_name'),
      digest,
      session_id: nameOf('session_id'),
      tool_call_id: nameOf('tool_call_id'),
      job_id: nameOf('job_id'),
      correlation_id: nameOf('correlation_id'),
      instance_id: nameOf('instance_id'),
      dcc_type: nameOf('dcc_type'),
      created_at: created,
      expires_at: expires,
      metadata: value['metadata'] ?? null,
    }),
  )
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
    uri: artefactUri(hex),
    mime: fields.mime,
    size_bytes: size,
    display_name: fields.display_name,
    digest: `sha256:${hex}`,
    session_id: fields.session_id,
    tool_call_id: fields.tool_call_id,
    job_id: fields.job_id,
    correlation_id: fields.correlation_id,
    instance_id: origin.instance_id,
    dcc_type: origin.dcc_type,
    created_at,
    expires_at: previous ? laterExpiry(previous, { created_at, expires_at }, ttlMs) : expires_at,
    metadata: fields.metadata,
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
