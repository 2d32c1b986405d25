import type { ArtefactRef } from '../artefacts/store.ts'

export interface ByteRange {
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

/**
 * What a `Range` header asks of `size` bytes (RFC 9110, section 14.2). `whole`: no range, one that
 * is not understood, or several; a server may answer all of these with everything.
 */
export function parseRange(
  header: string | undefined,
  size: number,
): ByteRange | 'whole' | 'unsatisfiable' {
  const [, first, last] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || first + last === '') return 'whole'
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return 'whole'
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) }
}

/** Does `If-None-Match` name this entity tag? Weak comparison (RFC 9110, section 13.1.2). */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  return header.split(',').some(part => part.trim().replace(/^W\//, '') === etag)
}

/** May the range be sent? A date is too coarse to vouch for bytes, so only the tag counts. */
export function allowsRange(ifRange: string | undefined, etag: string): boolean {
  return ifRange === undefined || ifRange.trim() === etag
}

/** RFC 6266: a plain name for old clients, the whole name percent-encoded (RFC 8187) beside it. */
export function contentDisposition(ref: ArtefactRef, hex: string): string {
  // No folder, and nothing that a system hides or expands, may come from a name on the wire.
  const name = (ref.display_name ?? '').replace(/[\\/:*?"<>|\p{C}]/gu, '_').replace(/^[.\s]+/, '')
  if (name === '') return `attachment; filename="${hex}"`
  const plain = name.replace(/[^\x20-\x7e]/g, '_').replace(/[%;]/g, '_')
  if (plain === name) return `attachment; filename="${name}"`
  const encoded = encodeURIComponent(name).replace(/['()*!~]/g, percent)
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}

/** Headers of every answer that speaks of a stored artefact (docs/artefacts.md gives the reasons). */
export function artefactHeaders(ref: ArtefactRef, hex: string): Record<string, string> {
  return {
    ...safetyHeaders,
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-cache',
    'Content-Disposition': contentDisposition(ref, hex),
    'Content-Type': ref.mime,
    ETag: `"${hex}"`,
    'Last-Modified': new Date(ref.created_at).toUTCString(),
  }
}

/** An artefact may be a page with a script: no browser may run it with our origin's rights. */
export const safetyHeaders = Object.freeze({
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
})
