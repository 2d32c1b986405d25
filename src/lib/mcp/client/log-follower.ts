import { numberOf } from '../../util/exact-json.ts'
import { arrayOf, isJsonObject, type JsonObject } from '../../util/json.ts'
import { asText, cleanText } from '../../util/text.ts'
import { parseText } from '../bridge/rpc.ts'
import type { Follower, Read } from './follower.ts'

/** Past events shown first, as `tail -f` does. */
const shownAtStart = 10
/** Largest page of events that a server returns. */
const pageEvents = 1000

/**
 * Follows `audit://recent`, or `events://session/<id>` from the `cursor` of the URI on. Their
 * entries count up from 1 in each run of the server; each is shown once.
 */
export function createLogFollower(uri: string): Follower {
  const url = new URL(uri)
  const { searchParams: query } = url
  const member = url.protocol === 'events:' ? 'events' : 'entries'
  /** The newest entry that was shown. */
  let known = query.has('cursor') ? Number(query.get('cursor')) : null

  async function pageAfter(read: Read, cursor: number) {
    if (member === 'events') {
      query.set('cursor', String(cursor))
      query.set('limit', String(pageEvents))
    }
    const [first] = await read(url.href)
    const value = parseText(asText(first?.content))
    const page = isJsonObject(value) ? value : {}
    const entries = arrayOf(page[member]).filter(isJsonObject)
    return { entries, newest: numberOf(page.newest_cursor) || idOf(entries.at(-1)) }
  }

  return {
    async start(read) {
      const { newest } = await pageAfter(read, known ?? 0)
      known ??= member === 'events' ? Math.max(0, newest - shownAtStart) : newest
      return { text: `${newest} ${member} so far`, facts: {} }
    },
    async look(read) {
      let last = known ?? 0
      const page = await pageAfter(read, last)
      const restarted = page.newest < last
      if (restarted) last = 0
      const entries = page.entries.filter(entry => idOf(entry) > last)
      known = idOf(entries.at(-1)) || last
      const lines = entries.map(member === 'events' ? eventLine : auditLine)
      const missed = entries.length === 0 ? 0 : idOf(entries[0]) - last - 1
      if (missed > 0) lines.unshift(`… ${missed} earlier ${member} left out`)
      if (restarted) lines.unshift(`${member} are missing: the server has restarted`)
      return lines.length === 0 ? null : { lines, facts: { [member]: entries, missed, restarted } }
    },
  }
}

function idOf(entry: JsonObject | undefined): number {
  return numberOf(entry?.id) ?? 0
}

function auditLine({ id: _, timestamp: __, action, ...more }: JsonObject): string {
  return cleanText(`${asText(action)} ${JSON.stringify(more)}`)
}

/** `20:39:09  warning  bpy/stderr  the message` */
function eventLine({ timestamp, level, source, stream, message }: JsonObject): string {
  const time = new Date(asText(timestamp))
  const clock = Number.isNaN(time.getTime()) ? '--:--:--' : time.toTimeString().slice(0, 8)
  const from = [source, stream].map(word => cleanText(asText(word), 40)).join('/')
  const kind = cleanText(asText(level), 10).padEnd(7)
  return [clock, kind, from, cleanText(asText(message), 4096)].join('  ')
}
