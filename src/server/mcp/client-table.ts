import type { ServerResponse } from 'node:http'
import { liveAppKey } from '../../lib/mcp/call-meta.ts'
import { claimOf, metaKeys } from '../../lib/mcp/request-metadata.ts'
import { Throttle } from '../../lib/mcp/throttle.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { withoutSecrets } from '../../lib/util/secret.ts'
import { cleanText } from '../../lib/util/text.ts'
import {
  type Clock,
  repeat,
  systemClock,
  systemTimer,
  type Timer,
  toRfc3339,
} from '../../lib/util/time.ts'
import { anonymous } from '../http/authentication.ts'
import { type RequestMessage, uriOf } from './json-rpc.ts'

/** Clients choose their names: one that takes a new one per request must not fill the memory. */
const maxClients = 100
/** A client that says nothing, and has nothing open, has left without a word after this time. */
const goneMs = 60_000
const sweepMs = 10_000
/** A subscriber reads the list at each push. */
const pushIntervalMs = 1000
const maxNameChars = 100
const maxUriChars = 500
/** The live page reads at each push, so its reads must not push. */
const pageName = 'service-page'

/** A row of `server://clients`. */
export interface Client {
  readonly key: string
  readonly name: string
  readonly version: string
  readonly principal: string
  /** The program that asks for the client, such as a gateway. */
  readonly via: string
  sessions: number
  /** Streams and calls that are being answered. */
  open: number
  lastSeenMs: number
  lastRead: { readonly atMs: number; readonly uri: string } | null
  lastCall: { readonly atMs: number; readonly tool: string } | null
}

/** The clients of a server: one for each name, version, principal and program on the way. */
export class ClientTable {
  readonly #clock: Clock
  readonly #clients = new Map<string, Client>()
  readonly #pushes: Throttle
  readonly #stopSweeps: () => void
  /** Rows at the last look. */
  #shown = 0
  readonly #watchers = new Set<() => void>()

  constructor({ clock = systemClock, timer = systemTimer }: { clock?: Clock; timer?: Timer } = {}) {
    this.#clock = clock
    const run = async () => {
      for (const watcher of this.#watchers) watcher()
    }
    this.#pushes = new Throttle({ timer, clock, minIntervalMs: pushIntervalMs, run })
    this.#stopSweeps = repeat(timer, sweepMs, async () => this.#sweep())
  }

  /** The client of a request that has no session, by its metadata. */
  ofRequest(params: JsonObject, principal: string): Client {
    return this.#named(claimOf(params)?.[metaKeys.clientInfo], principal)
  }

  /** The client of a new session, until `sessionEnded`. */
  ofSession(clientInfo: unknown, principal: string): Client {
    const client = this.#named(clientInfo, principal)
    client.sessions++
    this.#seen(client)
    return client
  }

  sessionEnded(client: Client): void {
    client.sessions--
    if (client.sessions === 0) this.#clients.delete(client.key)
    this.#pushes.trigger()
  }

  /**
   * Records that a request began. Returns the callback for its success. A read of `server://clients`
   * does not count, because it would wake its reader again; neither does a request of the live view in a
   * chat, which no model made.
   */
  began(
    client: Client,
    { method, params }: RequestMessage,
    res: ServerResponse,
  ): (() => void) | undefined {
    const { _meta } = params
    if (isJsonObject(_meta) && _meta[liveAppKey] === true) return undefined
    this.#seen(client)
    if (method === 'tools/call' || method === 'subscriptions/listen') this.opened(client, res)
    const isRead = method === 'resources/read'
    if (!isRead && method !== 'tools/call') return undefined
    const uri = uriOf(method, params)
    if (typeof uri === 'string' && /(?:^| )server:/i.test(uri)) return undefined
    const subject = isRead ? params.uri : params.name
    return () => {
      const atMs = this.#clock.now()
      client.lastSeenMs = atMs
      if (isRead) client.lastRead = { atMs, uri: String(subject) }
      else client.lastCall = { atMs, tool: String(subject) }
      if (client.name !== pageName) this.#pushes.trigger()
    }
  }

  /** The client is there until the response closes, whatever it says meanwhile. */
  opened(client: Client, res: ServerResponse): void {
    client.open++
    res.once('close', () => {
      client.open--
      client.lastSeenMs = this.#clock.now()
    })
  }

  /** Most recently seen first. */
  rows() {
    const here = this.#here()
    this.#shown = here.length
    return here
      .sort((a, b) => b.lastSeenMs - a.lastSeenMs)
      .map(({ name, version, principal, via, lastSeenMs, lastRead: read, lastCall: call }) => ({
        name,
        version,
        ...(principal !== anonymous && { principal }),
        ...(via !== '' && { via }),
        last_seen_at: toRfc3339(lastSeenMs),
        ...(read && { last_read: { at: toRfc3339(read.atMs), uri: shownUri(read.uri) } }),
        ...(call && { last_call: { at: toRfc3339(call.atMs), tool: call.tool } }),
      }))
  }

  /** Calls the watcher after changes, at most once a second. Returns the end of it. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  close(): void {
    this.#pushes.stop()
    this.#stopSweeps()
  }

  #here(): Client[] {
    const afterMs = this.#clock.now() - goneMs
    return [...this.#clients.values()].filter(
      ({ open, lastSeenMs }) => open > 0 || lastSeenMs > afterMs,
    )
  }

  #sweep(): void {
    if (this.#here().length < this.#shown) this.#pushes.trigger()
  }

  #named(info: unknown, principal: string): Client {
    const { name: named, version: revision, via: by } = isJsonObject(info) ? info : {}
    const [name, version, via] = [cut(named), cut(revision), cut(by)]
    const key = `${name}\n${version}\n${via}\n${principal}`
    const known = this.#clients.get(key)
    if (known !== undefined) return known
    const shown = { name: shownName(name), version: shownName(version), principal }
    const nothing = { sessions: 0, open: 0, lastSeenMs: 0, lastRead: null, lastCall: null }
    return { key, ...shown, via: via && shownName(via), ...nothing }
  }

  #seen(client: Client): void {
    client.lastSeenMs = this.#clock.now()
    if (this.#clients.has(client.key)) return
    if (this.#clients.size >= maxClients) {
      const idlest = [...this.#clients.values()].reduce((a, b) =>
        b.lastSeenMs < a.lastSeenMs ? b : a,
      )
      this.#clients.delete(idlest.key)
    }
    this.#clients.set(client.key, client)
    this.#pushes.trigger()
  }
}

function cut(text: unknown): string {
  return typeof text === 'string' ? text.slice(0, 2 * maxNameChars) : ''
}

/** A part of a text would keep the whole text in memory; a copy does not. */
function shownName(text: string): string {
  return Buffer.from(cleanText(text, maxNameChars)).toString() || 'unknown'
}

function shownUri(uri: string): string {
  return cleanText(withoutSecrets(uri), maxUriChars)
}
