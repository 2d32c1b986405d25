import { maxFieldChars } from './messages.ts'
import { omitUndefined } from '../../lib/util/members.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import { parseJson, wellFormedJson, maxJsonDepth } from '../../lib/util/json.ts'
import { type Result, fail, ok } from '../../lib/util/result.ts'
import type { PutOptionInvalid } from '../artefacts/put-options.ts'
import type { ArtefactOptions } from '../artefacts/store.ts'
import { type MemberFailure, MemberReader } from '../../lib/host-link/member-reader.ts'

/**
 * The sidecar members of an upload, from the query of its address. A failure's pointer names the
 * parameter. `mime` is the checked `Content-Type`.
 */
export function parseUploadOptions(
  query: string,
  mime: string | undefined,
  nowMs: number,
): Result<ArtefactOptions, MemberFailure> {
  const parameters = parseQuery(query)
  if (!parameters.ok) return parameters
  const reader = new MemberReader(parameters.value, '')
  const metadata = parseMetadata(reader)
  return reader.finish(readSidecar(reader, mime, metadata, nowMs))
}

/** The sidecar members without the media type; posts and the WebSocket use the same names. */
export function readSidecar(
  reader: MemberReader,
  mime: string | undefined,
  metadata: unknown,
  nowMs: number,
): ArtefactOptions {
  const text = (name: string) => reader.name(name, maxFieldChars)
  const expiresAt = reader.time('expires_at')
  if (expiresAt !== undefined && Date.parse(expiresAt) <= nowMs) {
    reader.refuse('expires_at', 'must be a time to come')
  }
  return omitUndefined({
    mime,
    displayName: text('display_name'),
    sessionId: text('session_id'),
    toolCallId: text('tool_call_id'),
    jobId: text('job_id'),
    correlationId: text('correlation_id'),
    expiresAt,
    metadata,
  })
}

/** The store refuses what is too large. */
function parseMetadata(reader: MemberReader): unknown {
  const text = reader.text('metadata')
  if (text === undefined) return undefined
  const parsed = parseJson(wellFormedJson(text), maxJsonDepth, parseExact)
  if (!parsed.ok) {
    const nested = `must not nest deeper than ${maxJsonDepth}`
    return reader.refuse('metadata', parsed.failure === 'depth' ? nested : 'must be JSON')
  }
  return parsed.value
}

/** What the store refused, under the name that the client used. */
export function inWireName({ option, detail }: PutOptionInvalid): MemberFailure {
  if (option === 'mime') return { pointer: '', detail: `the content type ${detail}` }
  const name = option.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
  return { pointer: `/${name}`, detail }
}

/** Form encoding, decoded once; a parameter given twice has no meaning, so it is refused. */
function parseQuery(query: string): Result<Record<string, string>, MemberFailure> {
  try {
    // URLSearchParams repairs broken escapes silently; this does not.
    decodeURIComponent(query)
  } catch {
    return fail({ pointer: '', detail: 'the query has a broken percent-encoding' })
  }
  const parameters = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(query)) {
    if (parameters.has(name)) {
      return fail({ pointer: `/${name.slice(0, 64)}`, detail: 'must not be given twice' })
    }
    parameters.set(name, value)
  }
  return ok(Object.fromEntries(parameters))
}
