import { retryDelay } from '../util/time.ts'
import { closeCodes } from './wire.ts'

/** Why a link, or an attempt to open one, ended. */
export type Ending =
  /** The server answered the handshake with a status other than 101. */
  | { readonly kind: 'http'; readonly status: number }
  /** A close frame of the server. */
  | { readonly kind: 'closed'; readonly code: number; readonly reason: string }
  /** No server, no answer or a broken connection, described by `text`. */
  | { readonly kind: 'lost'; readonly text: string }
  /** No running server was found. */
  | { readonly kind: 'nowhere' }

interface Circumstances {
  /** Attempts since the last stable link. */
  readonly attempt: number
  /** The token came from the user or the environment, so a new search cannot find another one. */
  readonly explicitToken: boolean
  /** The delay that the server requested in `shutdown`, or 0. */
  readonly reconnectAfterMs: number
  readonly random: () => number
}

type Next =
  | { readonly retry: true; readonly delayMs: number; readonly text: string }
  | { readonly retry: false; readonly text: string }

/** The retry delay while another application is connected. */
const takenMs = 10_000

/** Decides whether to retry, with a sentence for the status. */
export function afterEnding(ending: Ending, facts: Circumstances): Next {
  const pause = Math.max(retryDelay(facts.attempt, facts.random), facts.reconnectAfterMs)
  const again = (text: string, delayMs = pause): Next => ({ retry: true, delayMs, text })
  const refused = (text: string): Next => ({ retry: false, text })
  switch (ending.kind) {
    case 'nowhere':
      return again('no running service-cli serve was found: start one')
    case 'lost':
      return again(ending.text)
    case 'http':
      if (ending.status !== 401) return again(httpText(ending.status))
      if (facts.explicitToken) return refused('the server does not accept the host token')
      return again('the server does not accept the host token yet: it is read again')
    case 'closed':
      switch (ending.code) {
        case closeCodes.versionUnknown:
          return refused('the server speaks no common version of the link: update one of the two')
        case closeCodes.replaced:
          return refused('another connection of the same instance took over')
        case closeCodes.hostTaken:
          return again('another application is connected to the server', takenMs)
        default:
          return again(closeText(ending.code, ending.reason))
      }
  }
}

function httpText(status: number): string {
  if (status === 403) return 'the server refuses requests from this address (HTTP 403)'
  if (status === 404) return 'the address has no host link (HTTP 404)'
  return `the server answered HTTP ${status} instead of opening the link`
}

function closeText(code: number, reason: string): string {
  if (code === closeCodes.serverStops) return 'the server stopped'
  if (code === closeCodes.tooBig) return 'the server closed the link: a message was too large'
  if (code === closeCodes.overloaded) return 'the server closed the link: answers were not taken'
  return `the server closed the link (${code}${reason === '' ? '' : `: ${reason}`})`
}
