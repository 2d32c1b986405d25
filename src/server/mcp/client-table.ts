import type { ServerResponse } from 'node:http'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { claimOf, metaKeys } from '../../lib/mcp/request-metadata.ts'
import { omitUndefined } from '../../lib/util/members.ts'
import { withoutSecrets } from '../../lib/util/secret.ts'
import { cleanText } from '../../lib/util/text.ts'
import { Throttle } from '../../lib/util/throttle.ts'
import { type Clock, repeat, type Timer, toRfc3339 } from '../../lib/util/time.ts'
import { anonymous } from '../http/authentication.ts'
import type { ClientsSource } from '../resources/clients.ts'
import type { RequestMessage } from './json-rpc.ts'

/** Stateless clients choose their names: one that takes a new one per request must not fill memory. */
const maxStatelessClients = 100
/** A person reads the list; a server may have thousands of sessions. */
const maxShown = 100
/** A stateless client never says that it leaves. */
const statelessIdleMs = 10 * 60_000
const sweepMs = 60_000
/** A subscriber reads the list at each push. */
const pushIntervalMs = 1000
const maxNameChars = 100
const maxVersionChars = 50
const maxPrincipalChars = 255
const maxWhatChars = 500
/** The live page reads on each push: what it does must not push. */
const pageName = 'service-page'
const unknown = 'unknown'

interface Identity {
  readonly transport: 'session' | 'stateless'
  readonly protocolVersion: string
  readonly principal: string
  /** `clientInfo`, as the client sent it. */
  readonly info: unknown
}

interface TableParts {
  readonly clock: Clock
  readonly timer: Timer
}

/**
 * The clients of a server: one per session, and of the stateless transport one per name, version
 * and principal.
 */
export class ClientTable implements ClientsSource {
  readonly #clock: Clock
  readonly #sessions = new Set<Client>()
  readonly #stateless = new Map<string, Client>()
  readonly #pushes: Throttle
  readonly #stopSweeps: () => void
  #told = (): void => {}
  #version = 0

  constructor({ clock, timer }: TableParts) {
    this.#clock = clock
    const run = async () => this.#told()
    this.#pushes = new Throttle({ timer, minIntervalMs: pushIntervalMs, run })
    this.#stopSweeps = repeat(timer, sweepMs, async () => this.#sweep())
  }

  get version(): number {
    return this.#version
  }

  /** The client of a new session, until it is `gone`. */
  ofSession(identity: Omit<Identity, 'transport'>): Client {
    const client = this.#create({ ...identity, transport: 'session' })
    this.#sessions.add(client)
    return client
  }

  /** The client of a request that has no session, by its metadata. */
  ofRequest(params: JsonObject, principal: string): Client {
    const meta = claimOf(params) ?? {}
    const info = meta[metaKeys.clientInfo]
    const key = keyOf(info, principal)
    let client = this.#stateless.get(key)
    if (client === undefined) {
      if (this.#stateless.size >= maxStatelessClients) this.#makeRoom()
      const protocolVersion = String(meta[metaKeys.protocolVersion])
      client = this.#create({ transport: 'stateless', protocolVersion, principal, info })
      this.#stateless.set(key, client)
    }
    client.requestMs = this.#clock.now()
    return client
  }

  page(): object {
    const all = [...this.#sessions, ...this.#stateless.values()]
    const newest = all.toSorted((a, b) => b.lastSeenMs - a.lastSeenMs).slice(0, maxShown)
    return { clients: newest.map(client => client.row()), total: all.length }
  }

  onChange(told: () => void): void {
    this.#told = told
  }

  close(): void {
    this.#stopSweeps()
    this.#pushes.stop()
  }

  #create(identity: Identity): Client {
    const client = new Client(identity, {
      clock: this.#clock,
      changed: isPushed => this.#changed(isPushed),
      gone: () => {
        if (this.#sessions.delete(client)) this.#changed()
      },
    })
    this.#changed()
    return client
  }

  #changed(isPushed = true): void {
    this.#version++
    if (isPushed) this.#pushes.poke()
  }

  /** The one without a stream that asked longest ago leaves; with a stream only when all have one. */
  #makeRoom(): void {
    let [oldestKey, oldest]: [string, Client | null] = ['', null]
    for (const [key, client] of this.#stateless) {
      if (oldest === null || leavesBefore(client, oldest)) [oldestKey, oldest] = [key, client]
    }
    this.#stateless.delete(oldestKey)
  }

  #sweep(): void {
    const beforeMs = this.#clock.now() - statelessIdleMs
    for (const [key, client] of this.#stateless) {
      if (client.streams > 0 || client.requestMs > beforeMs) continue
      this.#stateless.delete(key)
      this.#changed()
    }
  }
}

interface ClientHooks {
  readonly clock: Clock
  readonly changed: (isPushed: boolean) => void
  readonly gone: () => void
}

/** A client as the transports know it. */
export class Client {
  requestMs: number
  lastSeenMs: number
  streams = 0
  list: Activity | null = null
  read: Activity | null = null
  call: Activity | null = null
  readonly #hooks: ClientHooks
  readonly #connectedMs: number
  readonly #isPage: boolean
  readonly #facts: object

  constructor({ info, protocolVersion, transport, principal }: Identity, hooks: ClientHooks) {
    const { name, title, version } = isJsonObject(info) ? info : {}
    this.#hooks = hooks
    this.#connectedMs = this.lastSeenMs = this.requestMs = hooks.clock.now()
    this.#isPage = name === pageName
    this.#facts = omitUndefined({
      name: shown(name, maxNameChars) ?? unknown,
      title: shown(title, maxNameChars),
      version: shown(version, maxVersionChars) ?? unknown,
      protocol_version: protocolVersion,
      transport,
      principal: principal === anonymous ? undefined : shown(principal, maxPrincipalChars),
    })
  }

  /**
   * A request begins: `end` what it returns. Null: it is about `server://clients`, and counting it
   * would wake the reader again.
   */
  begin({ method, params }: Pick<RequestMessage, 'method' | 'params'>): Activity | null {
    return asksForClients(params) ? null : new Activity(this, method, params)
  }

  ended(activity: Activity, isDone: boolean): void {
    const nowMs = this.#hooks.clock.now()
    this.lastSeenMs = nowMs
    if (isDone && activity.kind !== null) {
      activity.atMs = nowMs
      this[activity.kind] = activity
    }
    this.#hooks.changed(!this.#isPage)
  }

  /** The answer has become a stream. */
  opened(res: Pick<ServerResponse, 'destroyed' | 'once'>): void {
    if (res.destroyed) return
    this.streams++
    this.#hooks.changed(true)
    res.once('close', () => {
      this.streams--
      this.#hooks.changed(true)
    })
  }

  /** Its session has ended. */
  gone(): void {
    this.#hooks.gone()
  }

  row(): object {
    const { list, read, call } = this
    return {
      ...this.#facts,
      connected_at: toRfc3339(this.#connectedMs),
      last_seen_at: toRfc3339(this.lastSeenMs),
      streams: this.streams,
      ...(list && { last_list: { at: toRfc3339(list.atMs), what: list.what } }),
      ...(read && { last_read: { at: toRfc3339(read.atMs), uri: shownUri(read.what) } }),
      ...(call && { last_call: { at: toRfc3339(call.atMs), tool: call.what } }),
    }
  }
}

type ActivityKind = 'list' | 'read' | 'call'

const kinds: ReadonlyMap<string, readonly [kind: ActivityKind, what: string]> = new Map([
  ['resources/list', ['list', 'resources']],
  ['resources/templates/list', ['list', 'templates']],
  ['tools/list', ['list', 'tools']],
  ['resources/read', ['read', 'uri']],
  ['tools/call', ['call', 'name']],
])

/** One request. Holds nothing of its params but the name of what it is about: calls may wait. */
export class Activity {
  readonly kind: ActivityKind | null
  readonly what: string
  atMs = 0
  readonly #client: Client

  constructor(client: Client, method: string, params: JsonObject) {
    const [kind, what] = kinds.get(method) ?? [null, '']
    this.#client = client
    this.kind = kind
    this.what = kind === 'read' || kind === 'call' ? String(params[what]) : what
  }

  /** `isDone`: it succeeded. */
  end(isDone: boolean): void {
    this.#client.ended(this, isDone)
  }
}

/** Stateless clients are the same when these are; lengths keep one from looking like another. */
function keyOf(info: unknown, principal: string): string {
  const { name, version } = isJsonObject(info) ? info : {}
  const [known, of] = [
    String(name).slice(0, maxNameChars),
    String(version).slice(0, maxVersionChars),
  ]
  return `${known.length} ${known}${of.length} ${of}${principal}`
}

function leavesBefore(a: Client, b: Client): boolean {
  const [aHas, bHas] = [a.streams > 0, b.streams > 0]
  return aHas === bHas ? a.requestMs < b.requestMs : bHas
}

/** Does the request name a resource of the scheme, as an argument of a tool or in a filter, too? */
function asksForClients({ uri, arguments: args, notifications }: JsonObject): boolean {
  if (uri !== undefined) return isOfServer(uri)
  if (isJsonObject(args)) return isOfServer(args.uri) || hasOfServer(args.uris)
  return isJsonObject(notifications) && hasOfServer(notifications.resourceSubscriptions)
}

function hasOfServer(uris: unknown): boolean {
  return Array.isArray(uris) && uris.some(isOfServer)
}

function isOfServer(uri: unknown): boolean {
  return typeof uri === 'string' && /^server:/i.test(uri)
}

/** A copy: a part of a text keeps the whole text in memory. */
function shown(text: unknown, most: number): string | undefined {
  if (typeof text !== 'string') return undefined
  return Buffer.from(cleanText(text, most)).toString() || undefined
}

function shownUri(uri: string): string {
  return cleanText(withoutSecrets(uri), maxWhatChars)
}
