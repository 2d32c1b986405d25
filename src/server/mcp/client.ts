import type { ServerResponse } from 'node:http'
import { liveAppKey } from '../../lib/mcp/call-meta.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { omitUndefined } from '../../lib/util/members.ts'
import { withoutSecrets } from '../../lib/util/secret.ts'
import { cleanText } from '../../lib/util/text.ts'
import { type Clock, toRfc3339 } from '../../lib/util/time.ts'
import { anonymous } from '../http/authentication.ts'
import type { RequestMessage } from './json-rpc.ts'

const maxNameChars = 100
const maxVersionChars = 50
const maxPrincipalChars = 255
const maxWhatChars = 500
const maxComparedChars = 200
/** The live page reads on each push: what it does must not push. */
const pageName = 'service-page'
const unknown = 'unknown'

export interface Identity {
  readonly transport: 'session' | 'stateless'
  readonly protocolVersion: string
  readonly principal: string
  /** `clientInfo`, as the client sent it. */
  readonly info: unknown
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
  readonly name: string
  readonly #version: string
  readonly #principal: string
  readonly #facts: object

  constructor({ info, protocolVersion, transport, principal }: Identity, hooks: ClientHooks) {
    const { name, version } = namesIn(info)
    this.name = copied(name)
    this.#version = copied(version)
    this.#principal = principal
    this.#hooks = hooks
    this.#connectedMs = this.lastSeenMs = this.requestMs = hooks.clock.now()
    this.#isPage = name === pageName
    this.#facts = omitUndefined({
      name: shown(name, maxNameChars) ?? unknown,
      title: isJsonObject(info) ? shown(info.title, maxNameChars) : undefined,
      version: shown(version, maxVersionChars) ?? unknown,
      protocol_version: protocolVersion,
      transport,
      principal: principal === anonymous ? undefined : shown(principal, maxPrincipalChars),
    })
  }

  is(name: string, version: string, principal: string): boolean {
    return this.name === name && this.#version === version && this.#principal === principal
  }

  /**
   * A request begins: `end` what it returns. Null: it is about `server://clients`, and counting it
   * would wake the reader again; or the live view in a chat reads, and not the model.
   */
  begin({ method, params }: Pick<RequestMessage, 'method' | 'params'>): Activity | null {
    return isOfLiveApp(params) || asksForClients(params) ? null : new Activity(this, method, params)
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
    const named = kind === 'read' || kind === 'call' ? params[what] : what
    // A request without a name fails, and is not shown.
    this.what = typeof named === 'string' ? named : ''
  }

  /** `isDone`: it succeeded. */
  end(isDone: boolean): void {
    this.#client.ended(this, isDone)
  }
}

/** What tells one client from another, as it was sent; more than is shown, and not all of it. */
export function namesIn(info: unknown): { readonly name: string; readonly version: string } {
  const { name, version } = isJsonObject(info) ? info : {}
  return { name: cut(name), version: cut(version) }
}

function cut(text: unknown): string {
  if (typeof text !== 'string') return ''
  return text.length > maxComparedChars ? text.slice(0, maxComparedChars) : text
}

function isOfLiveApp({ _meta }: JsonObject): boolean {
  return isJsonObject(_meta) && _meta[liveAppKey] === true
}

/** Whether the request names a resource of the scheme, also in a tool argument or a filter. */
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

function shown(text: unknown, most: number): string | undefined {
  return typeof text === 'string' ? copied(cleanText(text, most)) || undefined : undefined
}

/** A part of a text keeps the whole text in memory; this does not. */
function copied(text: string): string {
  return String(JSON.parse(JSON.stringify(text)))
}

function shownUri(uri: string): string {
  return cleanText(withoutSecrets(uri), maxWhatChars)
}
