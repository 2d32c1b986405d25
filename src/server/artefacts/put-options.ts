import { ServiceError } from '../../lib/util/errors.ts'
import { hasRfc3339Form, parseRfc3339, toRfc3339 } from '../../lib/util/time.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import { exceedsDepth, maxJsonDepth } from '../../lib/util/json.ts'
import { findUnknownMember, membersOf } from '../../lib/util/members.ts'
import type { ArtefactOrigin, ArtefactRef } from './sidecar.ts'

/** What a caller may say about the bytes it stores. */
export interface ArtefactOptions {
  /** Default `application/octet-stream`. */
  mime?: string
  /** 1 to 255 characters without control characters, like the four ids. */
  displayName?: string
  sessionId?: string
  toolCallId?: string
  jobId?: string
  correlationId?: string
  /** In the future. A `Date` or an RFC 3339 text. */
  expiresAt?: Date | string
  /** Any JSON value, at most 64 KiB of JSON. */
  metadata?: unknown
}

/** The part of a reference that its producer decides. */
export type PutFields = Omit<
  ArtefactRef,
  'uri' | 'digest' | 'size_bytes' | 'created_at' | keyof ArtefactOrigin
>

const maxNameChars = 255
/** Of JSON. */
const maxMetadataBytes = 64 * 1024
const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const parameter = `;[ \\t]*${token}=(?:${token}|"[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]*")`
const mediaType = new RegExp(`^${token}/${token}(?:[ \\t]*${parameter})*$`)
const control = /[\u0000-\u001f\u007f]/

/** A media type (RFC 9110, section 8.3.1) of bounded length: safe as a header value. */
export function isMediaType(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxNameChars && mediaType.test(value)
}

/** A name or correlation id: 1 to 255 characters without control characters. */
export function isName(value: unknown): value is string {
  if (typeof value !== 'string' || value.length === 0) return false
  return value.length <= maxNameChars && !control.test(value)
}

/** Milliseconds of a `Date` to the year 9999 or an RFC 3339 text, or null when it is neither. */
export function timeMsOf(value: unknown): number | null {
  if (typeof value === 'string') return parseRfc3339(value)
  if (!(value instanceof Date) || !hasRfc3339Form(value.getTime())) return null
  return value.getTime()
}

const known = membersOf<ArtefactOptions>({
  mime: true,
  displayName: true,
  sessionId: true,
  toolCallId: true,
  jobId: true,
  correlationId: true,
  expiresAt: true,
  metadata: true,
})

/** Checks what a caller said about its bytes. Throws `body_invalid` naming the option. */
export function parsePutOptions(options: ArtefactOptions, nowMs: number): PutFields {
  const unknown = findUnknownMember(options, known, 'artefact option')
  if (unknown !== null) throw new ServiceError('body_invalid', unknown)
  const mime = options.mime ?? 'application/octet-stream'
  if (!isMediaType(mime)) throw invalid('mime', 'a media type such as image/png')
  return {
    mime,
    display_name: nameOf('displayName', options.displayName),
    session_id: nameOf('sessionId', options.sessionId),
    tool_call_id: nameOf('toolCallId', options.toolCallId),
    job_id: nameOf('jobId', options.jobId),
    correlation_id: nameOf('correlationId', options.correlationId),
    expires_at: expiryOf(options.expiresAt, nowMs),
    metadata: metadataOf(options.metadata),
  }
}

function nameOf(option: string, value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (isName(value)) return value
  throw invalid(option, `a text of 1 to ${maxNameChars} characters without control characters`)
}

function expiryOf(value: unknown, nowMs: number): string | null {
  if (value === undefined || value === null) return null
  const time = timeMsOf(value)
  if (time === null) throw invalid('expiresAt', 'a time such as 2030-01-31T12:00:00Z')
  if (time <= nowMs) throw invalid('expiresAt', 'a time in the future')
  return toRfc3339(time)
}

/** A copy through JSON, so that a later change by the caller changes nothing stored. */
function metadataOf(value: unknown): unknown {
  if (value === undefined || value === null) return null
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch {
    // A cycle, or a value that JSON does not have.
  }
  if (text === undefined || exceedsDepth(text, maxJsonDepth)) {
    throw invalid('metadata', `a JSON value at most ${maxJsonDepth} levels deep`)
  }
  if (Buffer.byteLength(text) <= maxMetadataBytes) return parseExact(text)
  throw invalid('metadata', `at most ${maxMetadataBytes} bytes of JSON`)
}

/** A refused option under the name it has in code; a route puts its own name to `detail`. */
export class PutOptionInvalid extends ServiceError {
  readonly option: string
  readonly detail: string

  constructor(option: string, detail: string) {
    super('body_invalid', `artefact option ${option} ${detail}`, { data: { option } })
    this.option = option
    this.detail = detail
  }
}

function invalid(option: string, needed: string): PutOptionInvalid {
  return new PutOptionInvalid(option, `must be ${needed}`)
}
