import { cleanText } from '../../lib/util/text.ts'
import { columns } from '../../lib/cli/format.ts'
import { durationText, sizeText } from '../../lib/util/amounts.ts'
import { parseRfc3339 } from '../../lib/util/time.ts'
import type { Listed } from '../../lib/mcp/client/ask.ts'

const maxNameChars = 40
const maxTypeChars = 40

/** Rows shown per scheme without --all. */
const maxOfScheme = 12

interface FirstOfEach {
  readonly shown: readonly Listed[]
  /** The number of hidden entries per scheme. */
  readonly left: readonly { readonly scheme: string; readonly count: number }[]
}

/** Groups by scheme and keeps the first entries of each. */
export function firstOfEach(entries: readonly Listed[]): FirstOfEach {
  const groups = [...Map.groupBy(entries, ({ uri }) => cleanText(uri.split(':', 1)[0] ?? '', 40))]
  return {
    shown: groups.flatMap(([, group]) => group.slice(0, maxOfScheme)),
    left: groups
      .filter(([, group]) => group.length > maxOfScheme)
      .map(([scheme, group]) => ({ scheme, count: group.length - maxOfScheme })),
  }
}

/** Matches a text in name, title or URI, case-insensitively. */
export function fits(filter: string): (entry: Listed) => boolean {
  const wanted = filter.toLowerCase()
  return ({ uri, name, title }) =>
    [uri, name, title].some(text => text?.toLowerCase().includes(wanted) === true)
}

/** The URI is the last column because it may be long. */
export function resourceTable(entries: readonly Listed[], nowMs: number): string {
  return columns(
    ['NAME', 'TYPE', 'SIZE', 'MODIFIED', 'URI'],
    entries.map(entry => [
      nameOf(entry),
      cleanText(entry.mimeType ?? '', maxTypeChars),
      entry.size === null ? '' : sizeText(entry.size),
      ageText(entry.modified, nowMs),
      uriOf(entry),
    ]),
    { drop: ['MODIFIED', 'SIZE', 'TYPE', 'NAME'] },
  )
}

export function templateTable(entries: readonly Listed[]): string {
  return columns(
    ['NAME', 'TYPE', 'TEMPLATE'],
    entries.map(entry => [
      nameOf(entry),
      cleanText(entry.mimeType ?? '', maxTypeChars),
      uriOf(entry),
    ]),
    { drop: ['TYPE', 'NAME'] },
  )
}

function nameOf({ title, name }: Listed): string {
  return cleanText(title ?? name, maxNameChars)
}

function uriOf({ uri }: Listed): string {
  return cleanText(uri, 2048)
}

/** `3 min ago`; empty for a missing or invalid time. */
export function ageText(modified: string | null, nowMs: number): string {
  const timeMs = modified === null ? null : parseRfc3339(modified)
  if (timeMs === null) return ''
  return nowMs - timeMs < 1000 ? 'now' : `${durationText(nowMs - timeMs)} ago`
}
