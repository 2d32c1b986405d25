import { terminalWidth } from '../../lib/cli/terminal.ts'
import type { Look, State } from '../../lib/mcp/client/follower.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import type { JsonChange } from '../../lib/util/json-diff.ts'
import type { Absence } from '../../lib/mcp/client/watch.ts'
import { isScene } from '../../lib/mcp/client/scene-follower.ts'
import { shownUrl } from '../../lib/mcp/bridge/context.ts'
import { jsonLine } from '../../lib/util/text.ts'
import { bookkeeping, goneSince, lookLines, noteLines, stateText } from './watch-lines.ts'

/** The width when stdout is not a terminal. */
const defaultColumns = 120

/** Prints the start, the changes and the reconnects of a watch. */
export interface WatchView {
  begins(url: URL, state: State): void
  changed(look: Look, updates: number): void
  again(url: URL, state: State, absence: Absence): void
  /** It cannot be read now; `again` follows when it can. */
  away(absence: Absence): void
}

export function awayText({ reason, isServer }: Absence): string {
  return isServer
    ? `connection lost (${reason}); waiting for the server`
    : `cannot be read (${reason}); trying again`
}

type Write = (line: string) => void

/** Writes notes with the time that fit the terminal. */
export function noteTo(write: Write): (text: string) => void {
  return text => {
    const lines = noteLines(text, new Date(), terminalWidth(process.stdout))
    write(`${lines.join('\n')}\n`)
  }
}

export function screenView(uri: string, write: Write): WatchView {
  const note = noteTo(write)
  return {
    begins(url, state) {
      note(`watching ${uri} at ${shownUrl(url)} (${stateText(state)}); Ctrl-C ends`)
    },
    changed(look, updates) {
      const width = process.stdout.columns ?? defaultColumns
      write(`${lookLines(look, updates, new Date(), width).join('\n')}\n`)
    },
    away: absence => note(awayText(absence)),
    again(url, state, { reason, awayMs }) {
      // In steps of the attempts to connect, so it may have been less.
      const what =
        awayMs === null
          ? `it could not be read: ${reason}`
          : `the server was away for up to ${(awayMs / 1000).toFixed(1)} s`
      note(`${what}; watching again at ${shownUrl(url)} (${stateText(state)})`)
    },
  }
}

/** `maxChars`: of the changes on one line; later ones are left out. */
export function jsonView(uri: string, write: Write, maxChars: number): WatchView {
  const line = (event: string, more: object) => {
    write(jsonLine({ event, time: new Date().toISOString(), uri, ...more }))
  }
  return {
    begins: (url, state) => line('watching', { url: shownUrl(url), ...facts(state) }),
    changed(look, updates) {
      const { difference, before, after, missed } = look
      const base = before.kind === 'json' ? before.revision : null
      const revisions = base === null ? {} : { base_revision: base }
      const shown = shownDifference(withoutBookkeeping(difference, uri), maxChars)
      const isBack = goneSince(before) !== null && goneSince(after) === null
      const application = isBack ? { application: { connected: true } } : {}
      const more = { ...facts(after), ...(missed !== undefined && { missed }) }
      line('changed', { updates, ...revisions, ...application, ...more, difference: shown })
    },
    away: ({ reason }) => line('away', { reason }),
    again(url, state, { reason, awayMs }) {
      const why = awayMs === null ? { reason } : { away_ms: Math.round(awayMs) }
      line('reconnected', { url: shownUrl(url), ...why, ...facts(state) })
    },
  }
}

/** Other servers and other resources may use these names for something else. */
function withoutBookkeeping(difference: Look['difference'], uri: string): Look['difference'] {
  if (difference.kind !== 'json' || !isScene(uri)) return difference
  return only(difference, ({ path }) => !bookkeeping.has(path))
}

/** Leaves only the new entries of a log, whose oldest go as others come. */
export function newEntries(look: Look): Look {
  const { difference } = look
  if (difference.kind !== 'json') return look
  const added = only(difference, ({ kind }) => kind === 'added')
  const [first] = entryIds(look.after)
  const last = entryIds(look.before).at(-1) ?? 0
  const missed = first === undefined ? 0 : Math.max(0, first - last - 1)
  return { ...look, difference: added, ...(missed > 0 && { missed }) }
}

/** They count up from 1. */
function entryIds(state: State): readonly number[] {
  const log = state.kind === 'json' && isJsonObject(state.value) ? state.value.entries : null
  return Array.isArray(log)
    ? log.map(entry => (typeof entry?.id === 'number' ? entry.id : NaN))
    : []
}

function only(
  difference: Look['difference'] & { kind: 'json' },
  keeps: (change: JsonChange) => boolean,
): Look['difference'] {
  const isKept = difference.changes.map(keeps)
  const changes = difference.changes.filter((_, at) => isKept[at])
  const labels = difference.labels.filter((_, at) => isKept[at])
  if (changes.length === 0 && !difference.truncated) return { kind: 'same' }
  return { ...difference, changes, labels }
}

function shownDifference(difference: Look['difference'], maxChars: number): object {
  if (difference.kind === 'text') {
    const { before, after } = difference
    return before.length + after.length > maxChars ? { kind: 'text', truncated: true } : difference
  }
  if (difference.kind !== 'json') return difference
  const { kind, changes, truncated } = difference
  let chars = 0
  const kept = changes.filter(change => (chars += JSON.stringify(change).length) <= maxChars)
  return { kind, changes: kept, truncated: truncated || kept.length < changes.length }
}

function facts(state: State): object {
  if (state.kind === 'json') {
    const { revision, goneSince: since } = state
    return {
      ...(revision !== null && { revision }),
      ...(since !== null && { application: { connected: false, since } }),
    }
  }
  if (state.kind === 'binary') {
    return { mime: state.mimeType, size_bytes: state.bytes, sha256: state.digest }
  }
  return state.kind === 'none' ? { missing: true } : {}
}
