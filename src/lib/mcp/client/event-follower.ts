import { ServiceError } from '../../util/errors.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../util/json.ts'
import type { Read } from './follower.ts'

/** Follows `events://session/<id>` in order, each event once, across server restarts. */
interface EventFollower {
  /** Returns the newest events, or after a restart the unseen ones. */
  start(read: Read): Promise<EventNews>
  /** Returns the events since the last call. */
  look(read: Read): Promise<EventNews>
}

export interface EventNews {
  readonly events: readonly JsonObject[]
  /** Events between were dropped by the server before they were read. */
  readonly gap: boolean
}

/** Past events shown first, as `tail -f` does. */
const shownAtStart = 10
/** Largest page a server returns. */
const pageEvents = 1000
const maxDepth = 200

/** Starts at the `cursor` of the URI, if any. */
export function createEventFollower(uri: string): EventFollower {
  const query = uri.indexOf('?')
  const base = query === -1 ? uri : uri.slice(0, query)
  const given = new URLSearchParams(query === -1 ? '' : uri.slice(query + 1))
  let cursor: number | null = given.has('cursor') ? Number(given.get('cursor')) : null
  let last: JsonObject | undefined

  async function page(read: Read, from: number, limit: number): Promise<JsonObject> {
    const wanted = new URLSearchParams(given)
    wanted.set('cursor', String(from))
    wanted.set('limit', String(limit))
    const asked = `${base}?${wanted}`
    const [contents] = await read(asked).catch((error: unknown) => {
      throw error instanceof ServiceError ? naming(error, asked, uri) : error
    })
    const parsed = contents?.kind === 'text' ? parseJson(contents.text, maxDepth) : null
    if (parsed?.ok && isJsonObject(parsed.value)) return parsed.value
    throw new ServiceError('resource_failed', `${base} has no events`)
  }

  async function look(read: Read): Promise<EventNews> {
    const events: JsonObject[] = []
    let gap = false
    for (;;) {
      const found = await page(read, cursor ?? 0, pageEvents)
      const { events: more, next_cursor: next } = found
      const fresh = Array.isArray(more) ? more.filter(isJsonObject) : []
      gap ||= found.gap === true
      events.push(...fresh)
      last = fresh.at(-1) ?? last
      if (typeof next !== 'number' || next <= (cursor ?? 0)) break
      cursor = next
      if (fresh.length < pageEvents) break
    }
    return { events, gap }
  }

  return {
    look,
    async start(read) {
      // A cursor above every id returns the facts of the buffer and drains nothing.
      const { newest_cursor: newest } = await page(read, Number.MAX_SAFE_INTEGER, 1)
      const end = typeof newest === 'number' ? newest : 0
      if (cursor === null) cursor = Math.max(0, end - shownAtStart)
      else if (last !== undefined) {
        // After a restart of the server the ids start at 1 again.
        const [same] = eventsOf(await page(read, cursor - 1, 1))
        const isOther =
          same !== undefined && same.id === last.id && same.timestamp !== last.timestamp
        if (end < cursor || isOther) cursor = 0
      }
      return look(read)
    },
  }
}

/** The error with the URI of the user in place of the one with a cursor. */
function naming({ code, message, hint, data }: ServiceError, asked: string, uri: string) {
  return new ServiceError(code, message.replace(asked, uri), { hint, data })
}

function eventsOf(page: JsonObject): readonly JsonObject[] {
  return Array.isArray(page.events) ? page.events.filter(isJsonObject) : []
}
