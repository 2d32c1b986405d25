import { ServiceError } from '../../util/errors.ts'
import { parseExact } from '../../util/exact-json.ts'
import { arrayOf, isJsonObject, type JsonObject, parseJson } from '../../util/json.ts'
import { asText, cleanText } from '../../util/text.ts'
import type { Follower, News, Read } from './follower.ts'

/** Past events shown first, as `tail -f` does. */
const shownAtStart = 10
/** Largest page a server returns. */
const pageEvents = 1000
const maxDepth = 200

/** Follows `events://session/<id>` by cursor, each event once. Starts at the `cursor` of the URI. */
export function createEventFollower(uri: string): Follower {
  const [base = '', query] = uri.split('?')
  const asked = new URLSearchParams(query)
  let cursor = asked.has('cursor') ? Number(asked.get('cursor')) : null
  let last: JsonObject | undefined

  async function pageOf(read: Read, from: string): Promise<JsonObject> {
    const [{ content } = { content: null }] = await read(from)
    const parsed = typeof content === 'string' ? parseJson(content, maxDepth, parseExact) : null
    if (parsed?.ok && isJsonObject(parsed.value)) return parsed.value
    throw new ServiceError('resource_failed', `${base} has no events`)
  }

  async function look(read: Read): Promise<News | null> {
    const events: JsonObject[] = []
    let [known, gap] = [cursor ?? 0, false]
    for (;;) {
      // The last event comes again: with another time it is one of another run of the server.
      asked.set('cursor', String(last === undefined ? known : known - 1))
      asked.set('limit', String(pageEvents))
      const page = await pageOf(read, `${base}?${asked}`)
      const found = arrayOf(page.events).filter(isJsonObject)
      const same = found.find(({ id }) => id === last?.id)
      if (numberIn(page, 'newest_cursor') < known || (same && same.timestamp !== last?.timestamp)) {
        ;[last, known, gap] = [undefined, 0, true]
        continue
      }
      const fresh = found.filter(event => numberIn(event, 'id') > known)
      gap ||= page.gap === true && numberIn(page, 'oldest_cursor') > known + 1
      events.push(...fresh)
      last = fresh.at(-1) ?? last
      known = Math.max(known, numberIn(page, 'next_cursor'))
      if (found.length < pageEvents) break
    }
    cursor = known
    if (events.length === 0 && !gap) return null
    const missing = gap ? ['events are missing: the server dropped them before they were read'] : []
    return { lines: [...missing, ...events.map(eventLine)], facts: { events, gap } }
  }

  return {
    look,
    async start(read) {
      const newest = numberIn(await pageOf(read, uri), 'newest_cursor')
      cursor ??= Math.max(0, newest - shownAtStart)
      return { text: `${newest} events so far`, facts: {}, news: await look(read) }
    },
  }
}

function numberIn(values: JsonObject, name: string): number {
  return typeof values[name] === 'number' ? values[name] : 0
}

/** `20:39:09  warning  bpy/stderr  the message` */
function eventLine({ timestamp, level, source, stream, message }: JsonObject): string {
  const time = new Date(typeof timestamp === 'string' ? timestamp : NaN)
  const clock = Number.isNaN(time.getTime()) ? '--:--:--' : time.toTimeString().slice(0, 8)
  const from = [source, stream].map(word => cleanText(asText(word ?? '-'), 40)).join('/')
  const kind = cleanText(asText(level ?? '-'), 10).padEnd(7)
  return [clock, kind, from, cleanText(asText(message ?? ''), 4096)].join('  ')
}
