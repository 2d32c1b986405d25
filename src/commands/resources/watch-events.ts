import { cleanText } from '../../lib/util/clean-text.ts'
import type { JsonObject } from '../../lib/util/json.ts'
import type { EventNews } from '../../lib/mcp/client/event-follower.ts'
import { shownUrl } from '../../lib/mcp/bridge/target.ts'
import { clockText } from './watch-lines.ts'

type Write = (line: string) => void

/** How events are shown. */
export interface EventsView {
  begins(url: URL, again: boolean): void
  news(news: EventNews): void
}

export function eventsView(uri: string, json: boolean, write: Write): EventsView {
  const line = (event: string, more: object): void =>
    write(`${JSON.stringify({ event, time: new Date().toISOString(), uri, ...more })}\n`)
  const screen = (text: string): void => write(`${clockText(new Date())}  ${text}\n`)
  return {
    begins(url, again) {
      if (json) line(again ? 'reconnected' : 'watching', { url: shownUrl(url) })
      else if (again) screen(`connected again at ${shownUrl(url)}`)
      else screen(`watching ${uri} at ${shownUrl(url)}; Ctrl-C ends`)
    },
    news({ events, gap }) {
      if (json) {
        if (gap) line('gap', {})
        for (const event of events) line('appended', { appended: event })
        return
      }
      if (gap) screen('events are missing: the server dropped them before they were read')
      for (const event of events) write(`${eventLine(event)}\n`)
    },
  }
}

/** `20:39:09  warning  bpy/stderr  the message` */
function eventLine(event: JsonObject): string {
  const { timestamp, level, source, stream, message } = event
  const time = new Date(typeof timestamp === 'string' ? timestamp : NaN)
  const clock = Number.isNaN(time.getTime()) ? '--:--:--' : clockText(time)
  const from = [source, stream].map(word => cleanText(String(word ?? '-'), 40)).join('/')
  return [
    clock,
    cleanText(String(level ?? '-'), 10).padEnd(7),
    from,
    cleanText(String(message ?? ''), 4096),
  ].join('  ')
}
