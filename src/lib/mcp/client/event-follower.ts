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
  /** The server has a new buffer, as after a restart: unread events of the old one are lost. */
  readonly isNewBuffer: boolean
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
  let isNewBuffer = false

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

  /** The ids of a new buffer start at 1 again. */
  function startAgain(): void {
    isNewBuffer = true
    cursor = 0
    last = undefined
  }

  async function look(read: Read): Promise<EventNews> {
    const events: JsonObject[] = []
    let gap = false
    let found = await page(read, cursor ?? 0, pageEvents)
    const { newest_cursor: newest } = found
    const lastId = last?.id
    if (typeof newest === 'number' && typeof lastId === 'number' && newest < lastId) {
      startAgain()
      found = await page(read, 0, pageEvents)
    }
    for (;;) {
      const fresh = eventsOf(found)
      const { next_cursor: next } = found
      gap ||= found.gap === true
      events.push(...fresh)
      last = fresh.at(-1) ?? last
      if (typeof next !== 'number' || next <= (cursor ?? 0)) break
      cursor = next
      if (fresh.length < pageEvents) break
      found = await page(read, cursor, pageEvents)
    }
    const news = { events, gap, isNewBuffer }
    isNewBuffer = false
    return news
  }

  return {
    look,
    async start(read) {
      if (cursor === null) {
        // A cursor above every id returns the facts of the buffer and drains nothing.
        const { newest_cursor: newest } = await page(read, Number.MAX_SAFE_INTEGER, 1)
        cursor = Math.max(0, (typeof newest === 'number' ? newest : 0) - shownAtStart)
      } else if (last !== undefined) {
        const [same] = eventsOf(await page(read, cursor - 1, 1))
        if (same?.id === last.id && same?.timestamp !== last.timestamp) startAgain()
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
