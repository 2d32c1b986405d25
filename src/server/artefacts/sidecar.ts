import { parseRfc3339 } from '../../lib/util/clock.ts'
import { isJsonObject, parseJson } from '../../lib/util/json.ts'
import { type Result, fail, ok } from '../../lib/util/result.ts'
import { isMediaType, isName } from './put-options.ts'
import type { ArtefactRef } from './store.ts'
import { artefactUri } from '../../lib/mcp/artefact-uri.ts'

/** Levels that the sidecar adds around `metadata`. */
const ownLevels = 2

export function serialiseSidecar(ref: ArtefactRef): string {
  return JSON.stringify(ref) + '\n'
}

/**
 * Reads a sidecar found on disk. It may have been written by another program, by an older
 * version or by nobody in particular: every member is checked, unknown ones are left out.
 * The failure is the reason, for the log.
 */
export function parseSidecar(
  text: string,
  hex: string,
  maxDepth: number,
): Result<ArtefactRef, string> {
  const parsed = parseJson(text, maxDepth + ownLevels)
  if (!parsed.ok) return fail(parsed.failure === 'depth' ? 'nested too deep' : 'not JSON')
  const value = parsed.value
  if (!isJsonObject(value)) return fail('not an object')

  const size = value['size_bytes']
  if (value['digest'] !== `sha256:${hex}`) return fail('digest is not that of the file name')
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) {
    return fail('size_bytes is not a size')
  }
  if (!isMediaType(value['mime'])) return fail('mime is not a media type')
  if (!isTime(value['created_at'])) return fail('created_at is not a time')
  const expires = value['expires_at'] ?? null
  if (expires !== null && !isTime(expires)) return fail('expires_at is not a time')
  for (const member of names) {
    const name = value[member] ?? null
    if (name !== null && !isName(name)) return fail(`${member} is not a name`)
  }

  return ok(
    Object.freeze({
      uri: artefactUri(hex),
      mime: value['mime'],
      size_bytes: size,
      display_name: nameOf(value['display_name']),
      digest: `sha256:${hex}`,
      session_id: nameOf(value['session_id']),
      tool_call_id: nameOf(value['tool_call_id']),
      job_id: nameOf(value['job_id']),
      correlation_id: nameOf(value['correlation_id']),
      created_at: String(value['created_at']),
      expires_at: expires === null ? null : String(expires),
      metadata: value['metadata'] ?? null,
    }),
  )
}

const names = ['display_name', 'session_id', 'tool_call_id', 'job_id', 'correlation_id'] as const

function nameOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && parseRfc3339(value) !== null
}
