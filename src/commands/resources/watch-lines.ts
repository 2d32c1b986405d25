import { cleanText } from '../../lib/util/text.ts'
import { valueText, wrapWords } from '../../lib/cli/format.ts'
import { counted, sizeText } from '../../lib/util/amounts.ts'
import { isVector, type JsonChange } from '../../lib/util/json-diff.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import type { Difference, Look, State } from '../../lib/mcp/client/follower.ts'

/** Changes shown for one update; the rest is counted. */
const maxShown = 12
const maxLabelChars = 44
const maxTextLines = 6
/** The width of the time. */
const indent = ' '.repeat(8)

/** `12:30:05` */
export function clockText(time: Date): string {
  return time.toTimeString().slice(0, 8)
}

/** A note with the time, wrapped to `width` columns below its first word. */
export function noteLines(text: string, time: Date, width: number): string[] {
  return wrapWords(text, width, `${clockText(time)}  `, `${indent}  `)
}

/** The lines for one read: a head with the time, then one line for each change. */
export function lookLines(look: Look, updates: number, time: Date, width: number): string[] {
  const { missed } = look
  const entries = missed === 1 ? 'entry' : 'entries'
  const earlier = missed === undefined ? [] : [`${indent}… ${missed} earlier ${entries} left out`]
  return [
    ...noteLines(headOf(look, updates), time, width),
    ...earlier,
    ...differenceLines(look.difference, Math.max(width, 60)),
  ]
}

function headOf({ before, after, difference }: Look, updates: number): string {
  const known = revisionOf(after)
  const base = revisionOf(before)
  const steps = known !== null && base !== null && known > base ? known - base : updates
  const times = steps > 1 ? `(${steps} updates summed up)` : ''
  const went = applicationText(before, after)
  const nothing = difference.kind === 'same' && went === '' ? 'nothing differs' : ''
  const what = known === null ? 'changed' : `revision ${known}`
  const main = difference.kind === 'replaced' ? stateText(after) : joined([what, went, nothing])
  return times === '' ? main : `${main} ${times}`
}

/** What became of the application of a scene between two reads. */
function applicationText(before: State, after: State): string {
  const was = goneSince(before)
  const now = goneSince(after)
  if (now !== null) return now === was ? '' : goneText
  return was === null ? '' : 'the application is connected again'
}

const goneText = 'the application is gone; this is its last scene'

export function goneSince(state: State): string | null {
  return state.kind === 'json' ? state.goneSince : null
}

function joined(words: string[]): string {
  return words.filter(word => word !== '').join(', ')
}

function revisionOf(state: State): number | null {
  return state.kind === 'json' ? state.revision : null
}

/** False when a read found nothing new: an earlier read already included the update. */
export function isNews({ before, after, difference }: Look): boolean {
  if (difference.kind !== 'same') return true
  if (goneSince(before) !== goneSince(after)) return true
  const base = revisionOf(before)
  return base !== null && base !== revisionOf(after)
}

/** A state in a few words: `revision 12, 5 members`. */
export function stateText(state: State): string {
  switch (state.kind) {
    case 'none':
      return 'does not exist now'
    case 'json': {
      const revision = state.revision === null ? '' : `revision ${state.revision}`
      return joined([
        revision,
        sizeOf(state.value),
        state.goneSince === null ? '' : 'the application is gone',
      ])
    }
    case 'text':
      return counted(state.text.split('\n').length, 'line')
    case 'binary':
      return `${sizeText(state.bytes)} of ${cleanText(state.mimeType ?? 'binary data', 80)}`
  }
}

function sizeOf(value: unknown): string {
  if (Array.isArray(value)) return counted(value.length, 'element')
  return isJsonObject(value) ? counted(Object.keys(value).length, 'member') : valueText(value, 60)
}

function differenceLines(difference: Difference, width: number): string[] {
  switch (difference.kind) {
    case 'json':
      return changeLines(difference, width)
    case 'text':
      return textLines(difference.before, difference.after, width)
    case 'replaced':
    case 'same':
      return []
  }
}

type JsonDifference = Difference & { kind: 'json' }

/** Members of a snapshot that differ with every change. */
export const bookkeeping: ReadonlySet<string> = new Set([
  '/change_count',
  '/captured_at',
  '/truncated/total',
])

function changeLines(difference: JsonDifference, width: number): string[] {
  const { truncated } = difference
  const told = difference.changes.map((change, at) => ({ change, label: difference.labels[at] }))
  const kept = told.filter(({ change }) => !bookkeeping.has(change.path))
  const changes = kept.map(({ change }) => change)
  const labels = kept.map(({ label }) => label)
  const shown = changes.slice(0, maxShown)
  const names = shown.map((_, at) => shortened(labels[at] ?? ''))
  const column = Math.max(...names.map(name => name.length))
  const lines = shown.flatMap((change, at) => {
    const name = names[at] ?? ''
    const start = `${indent}${marks[change.kind]} ${name.padEnd(column)}  `
    const text = changeText(change, width - start.length)
    if (text !== null) return [`${start}${text}`.trimEnd()]
    return [`${indent}${marks[change.kind]} ${name}`.trimEnd(), ...valueLines(change, width)]
  })
  const left = changes.length - shown.length
  if (truncated) lines.push(`${indent}  … and more than ${left} other changes`)
  else if (left > 0) lines.push(`${indent}  … and ${counted(left, 'other change')}`)
  return lines
}

const marks = { added: '+', removed: '-', changed: ' ' } as const

/** Below this width a value stands on a line of its own. */
const minValueChars = 24

/** Null when the values do not fit beside the name. */
function changeText(change: JsonChange, maxChars: number): string | null {
  if (change.kind !== 'changed') {
    const value = change.kind === 'added' ? change.after : change.before
    return maxChars < minValueChars ? null : valueText(actionFirst(value), maxChars)
  }
  const [before, after] = [change.before, change.after].map(value => valueText(value, maxChars))
  const text = `${before} → ${after}`
  return text.length <= maxChars ? text : null
}

/** The old and the new value below the name: a vector whole, any other value on one line. */
function valueLines(change: JsonChange, width: number): string[] {
  const start = `${indent}    `
  const lines = (value: unknown, mark: string): string[] => {
    const maxChars = isVector(value) ? 1000 : width - start.length - 2
    return wrapWords(
      valueText(actionFirst(value), maxChars),
      width,
      `${start}${mark} `,
      `${start}   `,
    )
  }
  if (change.kind === 'added') return lines(change.after, ' ')
  if (change.kind === 'removed') return lines(change.before, ' ')
  return [...lines(change.before, ' '), ...lines(change.after, '→')]
}

/** What was done says more of an entry of the audit than its number and time. */
function actionFirst(value: unknown): unknown {
  if (!isJsonObject(value) || typeof value.action !== 'string') return value
  const { action, id, timestamp, ...rest } = value
  return { action, ...rest, id, timestamp }
}

/** Keeps the end of a long path, which says more than its start. */
function shortened(label: string): string {
  const clean = cleanText(label, 4096) || '(all of it)'
  return clean.length > maxLabelChars ? `…${clean.slice(1 - maxLabelChars)}` : clean
}

/** The differing lines, without the equal ones at both ends. */
function textLines(before: string, after: string, width: number): string[] {
  const [old, now] = [before.split('\n'), after.split('\n')]
  const most = Math.min(old.length, now.length)
  let start = 0
  while (start < most && old[start] === now[start]) start++
  let end = 0
  while (end < most - start && old.at(-1 - end) === now.at(-1 - end)) end++
  return [
    ...someLines('-', old.slice(start, old.length - end), width),
    ...someLines('+', now.slice(start, now.length - end), width),
  ]
}

function someLines(mark: string, lines: string[], width: number): string[] {
  const maxChars = width - indent.length - 2
  const shown = lines
    .slice(0, maxTextLines)
    .map(line => `${indent}${mark} ${cleanText(line, maxChars)}`.trimEnd())
  const left = lines.length - shown.length
  return left > 0 ? [...shown, `${indent}${mark} … and ${counted(left, 'other line')}`] : shown
}
