/**
 * A client of the host link for applications in JavaScript: web pages, Electron, Node. The built
 * file imports nothing; docs/host-link.md has an example.
 */
import type { z } from 'zod'
import type { auditPost, eventsPost } from './lib/host-link/messages.ts'
import type { Mode, ServerMessage, Welcome } from './lib/host-link/wire.ts'
import type { JsonObject } from './lib/util/json.ts'

/**
 * `code` is one of docs/host-link.md or docs/reference.md, or `disconnected`, `unreachable`,
 * `replaced`, `host_taken`.
 */
export class HostLinkError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'HostLinkError'
    this.code = code
  }
}

export type SceneObject = JsonObject & { readonly id: string }

/** What changed since the last scene or patch. */
export interface SceneChanges {
  /** Whole objects: each replaces the one with its id, or is added at the end. */
  objects?: readonly SceneObject[]
  /** Ids of objects that are gone. */
  removed?: readonly string[]
  /** Other members of the scene; `undefined` removes one. */
  members?: JsonObject
}

export type AuditInput = z.input<typeof auditPost>['records'][number]
export type EventInput = z.input<typeof eventsPost>['events'][number]

export type LinkState = 'connecting' | 'connected' | 'waiting' | 'ended'
export type PictureRequest = Extract<ServerMessage, { type: 'capture' }>
/** `answer` needs a text. */
export type NoteAction = 'answer' | 'accept' | 'reopen' | 'close'
export type PictureFile = Blob | Uint8Array<ArrayBuffer>

/** A picture, with what docs/host-link.md ("Messages of the server") says of `view`. */
export interface Picture {
  file: PictureFile
  view?: JsonObject
}

export interface HostClientOptions {
  /** The `host_url` of the server. Default: `http://127.0.0.1:8765/host`. */
  url?: string
  /** Or a function, called before every attempt: a restarted server has another token. */
  token: string | (() => string | Promise<string>)
  app: { dcc_type: string; mode?: Mode; version?: string; display_name?: string; pid?: number }
  document?: { path?: string; name?: string; modified?: boolean } | null
  /** `error`: why the link waits for its next attempt, or has ended. */
  onStatus?: (state: LinkState, error: HostLinkError | null) => void
  /** The server refused a scene or another message without an answer. Default: `console.error`. */
  onError?: (error: HostLinkError) => void
  /** Takes a picture of the application, at most `max_width` pixels wide and `max_bytes` long. */
  picture?: (request: PictureRequest) => PictureFile | Picture | Promise<PictureFile | Picture>
  /** `picture` also draws from where a `shot` says. */
  shots?: boolean
  /** A client reads the scene: hand over what the link does not have yet. */
  refresh?: () => void | Promise<void>
  /** The notes of the document, each as in `notes://{id}`, and the folder of their pictures. */
  onNotes?: (notes: readonly JsonObject[], pictures: string) => void
}

const subprotocol = 'dcc-host.v1'
const firstRetryMs = 250
const lastRetryMs = 10_000
/** Least time between two scenes that no client follows; a read asks for the newest. */
const unfollowedMs = 2000
/** Undefined outside of web pages. */
const pageOrigin = (globalThis as { location?: { origin: string } }).location?.origin

/** Close codes that say why. */
const closes: Readonly<Record<number, string>> = {
  1009: 'limit',
  4400: 'invalid',
  4401: 'auth-refused',
  4409: 'replaced',
  4423: 'host_taken',
}

type Answer = { type: 'ok' | 'error'; id?: string; code: string; message: string }

/** Connects, and connects again whenever the connection is lost, until `close`. */
export class HostClient {
  readonly #options: HostClientOptions
  readonly #url: string
  readonly #onError: (error: HostLinkError) => void
  readonly #instanceId = crypto.getRandomValues(new Uint32Array(4)).join('-')
  readonly #scene = new SceneCopy()
  readonly #questions = new Map<string, PromiseWithResolvers<any>>()
  #lastId = 0
  #document: HostClientOptions['document']
  #isEnded = false
  #socket: WebSocket | null = null
  /** Null while the link is down. */
  #welcome: Welcome | null = null
  /** Resolves with the next welcome; rejects when there is none any more. */
  #greeting = Promise.withResolvers<void>()
  #retryMs = firstRetryMs
  #retryTimer: ReturnType<typeof setTimeout> | undefined
  #sending: Promise<void> | null = null
  #sceneTimer: ReturnType<typeof setTimeout> | undefined
  #sentAtMs = 0
  #isFollowed = true

  constructor(options: HostClientOptions) {
    if (!options?.token) throw new TypeError('HostClient needs a token, not an empty one')
    this.#options = options
    this.#url = options.url ?? 'http://127.0.0.1:8765/host'
    if (!/^(http|ws)s?:/.test(this.#url) || !URL.canParse(this.#url))
      throw new TypeError(`HostClient needs an HTTP address as its url, not "${this.#url}"`)
    this.#onError = options.onError ?? console.error
    this.#document = options.document
    void this.#open()
  }

  /** Any JSON object; null clears it. Do not change it afterwards: it may be sent again. */
  setScene(scene: JsonObject | null): void {
    this.#scene.set(scene)
    this.#schedule()
  }

  /** Throws `TypeError` unless each of the scene's `objects` has a text `id` of its own. */
  patchScene(changes: SceneChanges): void {
    this.#scene.patch(changes)
    this.#schedule()
  }

  /** Resolves once the server has the newest scene. Rejects when it refuses that or the link ends. */
  async flush(): Promise<void> {
    await this.#greeting.promise
    // It may have begun before the last change.
    await this.#sending?.catch(() => {})
    if (this.#sending || this.#scene.isDirty) return this.#send()
    if (this.#scene.refusal !== null) throw this.#scene.refusal
  }

  setDocument(document: HostClientOptions['document']): void {
    this.#document = document
    if (this.#welcome !== null) this.#say({ type: 'app.update', document })
  }

  /** Records at most 100. Rejects when the server is not connected: the link keeps nothing. */
  async record(...records: AuditInput[]): Promise<void> {
    await this.#ask({ type: 'audit.record', records })
  }

  /** Appends at most 100 to `events://session/<sessionId>`. Rejects as `record` does. */
  async log(sessionId: string, ...events: EventInput[]): Promise<void> {
    await this.#ask({ type: 'events.append', session_id: sessionId, events })
  }

  /** `note`: as in docs/host-link.md, "Notes". */
  async addNote(note: JsonObject): Promise<{ id: string; number: number; state: string }> {
    const answer = await this.#ask({ type: 'note.add', note })
    return answer.note
  }

  async actOnNote(note: string, action: NoteAction, by?: string, text?: string): Promise<void> {
    await this.#ask({ type: 'note.act', note, action, by, text })
  }

  /** Ends the link. `clear`: the user disconnects, so the server drops scene, document and events. */
  async close({ clear = false } = {}): Promise<void> {
    if (this.#isEnded) return
    const socket = this.#socket
    if (this.#welcome !== null) this.#say({ type: 'bye', reason: 'quit', clear })
    this.#end(null)
    if (socket === null) return
    const closed = new Promise(resolve => socket.addEventListener('close', resolve))
    socket.close()
    await closed
  }

  #end(error: HostLinkError | null): void {
    this.#isEnded = true
    clearTimeout(this.#retryTimer)
    // No caller may be waiting for it.
    this.#greeting.promise.catch(() => {})
    this.#greeting.reject(error ?? new HostLinkError('disconnected', 'the link was closed'))
    this.#options.onStatus?.('ended', error)
  }

  async #open(): Promise<void> {
    const { token: given, onStatus } = this.#options
    onStatus?.('connecting', null)
    try {
      const token = typeof given === 'string' ? given : await given()
      if (this.#isEnded) return
      const headers = { Authorization: `Bearer ${token}` }
      const address = this.#url.replace(/^http/, 'ws')
      // A page cannot send headers with a WebSocket: its hello has the token.
      const isPage = pageOrigin !== undefined
      const form = isPage ? subprotocol : { protocols: subprotocol, headers }
      const socket = new WebSocket(address, form)
      let isOpen = false
      this.#socket = socket
      socket.onopen = () => {
        isOpen = true
        this.#say({ ...this.#hello(), token: isPage ? token : undefined })
      }
      socket.onmessage = ({ data }) => this.#receive(JSON.parse(data))
      socket.onclose = ({ code, reason }) => {
        const text = reason || `the connection was closed (${code})`
        const failure = new HostLinkError(closes[code] ?? 'disconnected', text)
        void this.#closed(isOpen ? failure : whyNotOpen(this.#url, headers))
      }
    } catch (error) {
      void this.#closed(new HostLinkError('unreachable', String(error)))
    }
  }

  #hello(): object {
    const { app, picture, shots = false, onNotes } = this.#options
    return {
      type: 'hello',
      app: { mode: 'gui', ...app },
      instance_id: this.#instanceId,
      document: this.#document,
      capture: { targets: picture === undefined ? [] : ['window', 'viewport'], shots },
      notes: onNotes !== undefined,
      scene_refresh: true,
    }
  }

  async #closed(reason: HostLinkError | Promise<HostLinkError>): Promise<void> {
    this.#socket = null
    if (this.#welcome !== null && !this.#isEnded) this.#greeting = Promise.withResolvers()
    this.#welcome = null
    clearTimeout(this.#sceneTimer)
    const error = await reason
    for (const { reject } of this.#questions.values()) reject(error)
    this.#questions.clear()
    if (this.#isEnded) return
    const { token, onStatus } = this.#options
    const isTokenWrong = error.code.startsWith('auth-') && typeof token === 'string'
    if (isTokenWrong || error.code === 'replaced') return this.#end(error)
    const waitMs = error.code === 'host_taken' ? lastRetryMs : this.#retryMs
    this.#retryMs = Math.min(2 * this.#retryMs, lastRetryMs)
    this.#retryTimer = setTimeout(() => void this.#open(), waitMs * (0.8 + 0.4 * Math.random()))
    onStatus?.('waiting', error)
  }

  #say(message: object): void {
    this.#socket?.send(toJson(message, `NaN of ${this.#instanceId}`))
  }

  /** Resolves with the members of the answer. */
  #ask(message: object): Promise<any> {
    const question = Promise.withResolvers<any>()
    const id = String(++this.#lastId)
    if (this.#welcome === null) {
      question.reject(new HostLinkError('disconnected', 'the server is not connected'))
    } else {
      this.#questions.set(id, question)
      this.#say({ ...message, id })
    }
    return question.promise
  }

  #receive(message: ServerMessage | Answer): void {
    const { refresh, onNotes } = this.#options
    switch (message.type) {
      case 'welcome':
        return this.#greeted(message)
      case 'ok':
      case 'error':
        return this.#answered(message)
      case 'refresh':
        return void this.#answer(message.id, async () => {
          await refresh?.()
          await this.flush()
          return {}
        })
      case 'capture':
        return void this.#answer(message.id, () => this.#picture(message))
      case 'demand':
        this.#isFollowed = message.scene
        return this.#schedule()
      case 'notes':
        return onNotes?.(message.notes as readonly JsonObject[], message.pictures)
    }
  }

  #greeted(welcome: Welcome): void {
    this.#welcome = welcome
    this.#greeting.resolve()
    this.#retryMs = firstRetryMs
    this.#isFollowed = true
    this.#scene.forgetSent()
    this.#options.onStatus?.('connected', null)
    this.#schedule()
  }

  #answered({ type, id = '', code, message, ...members }: Answer): void {
    const question = this.#questions.get(id)
    this.#questions.delete(id)
    if (type === 'ok') return question?.resolve(members)
    const error = new HostLinkError(code, message)
    if (question === undefined) this.#onError(error)
    else question.reject(error)
  }

  /** Answers a request of the server. `png`: follows right behind the answer. */
  async #answer(id: string, act: () => Promise<{ png?: Uint8Array<ArrayBuffer> }>): Promise<void> {
    const socket = this.#socket
    const send = (message: object) => socket?.send(JSON.stringify({ ...message, id }))
    try {
      const { png, ...members } = await act()
      send({ type: 'ok', ...members, png_bytes: png?.length })
      if (png !== undefined) socket?.send(png)
    } catch (error) {
      const code = error instanceof HostLinkError ? error.code : 'internal'
      send({ type: 'error', code, message: error instanceof Error ? error.message : String(error) })
    }
  }

  async #picture(request: PictureRequest) {
    const taken = await this.#options.picture?.(request)
    if (taken === undefined) throw new HostLinkError('unsupported', 'it takes no pictures')
    const { file, ...members } = 'file' in taken ? taken : { file: taken }
    const png = file instanceof Blob ? new Uint8Array(await file.arrayBuffer()) : file
    if (png.length === 0) throw new HostLinkError('blank', 'the picture is empty')
    return { ...members, png }
  }

  /** Sends the scene soon: changes of one turn go together. */
  #schedule(): void {
    clearTimeout(this.#sceneTimer)
    const send = () => {
      if (this.#welcome === null || this.#sending !== null || !this.#scene.isDirty) return
      this.#send().catch(error => error.code !== 'disconnected' && this.#onError(error))
    }
    const waitMs = this.#sentAtMs + unfollowedMs - performance.now()
    // Timers of a hidden page are late.
    if (this.#isFollowed || waitMs <= 0) queueMicrotask(send)
    else this.#sceneTimer = setTimeout(send, waitMs)
  }

  /** One message at a time: what changes meanwhile goes with the next. */
  #send(): Promise<void> {
    this.#sending ??= this.#sendChanges().finally(() => {
      this.#sentAtMs = performance.now()
      this.#sending = null
      this.#schedule()
    })
    return this.#sending
  }

  async #sendChanges(): Promise<void> {
    try {
      const { revision } = await this.#ask(this.#scene.takeChanges())
      this.#scene.base = revision
      this.#scene.refusal = null
    } catch (error) {
      const refusal = error as HostLinkError
      this.#scene.isWhole = true
      // The scene of the server is not the one that was changed.
      if (refusal.code === 'stale') return this.#sendChanges()
      if (refusal.code !== 'disconnected') this.#scene.refusal = refusal
      throw error
    }
  }
}

/** The scene, and what of it the server does not have. */
class SceneCopy {
  isDirty = false
  /** A patch would not do. */
  isWhole = true
  /** The revision that a patch builds on. */
  base = 0
  /** Why the server refused the last one. */
  refusal: HostLinkError | null = null
  /** Undefined before the first one. */
  #scene: JsonObject | null | undefined
  /** By id; null when a patch cannot name them. */
  #objects: Map<string, SceneObject> | null = null
  readonly #ids = new Set<string>()
  readonly #names = new Set<string>()

  set(scene: JsonObject | null): void {
    const list = scene?.['objects'] as SceneObject[]
    const isKeyed = Array.isArray(list) && list.every(object => typeof object?.id === 'string')
    const byId = isKeyed ? new Map(list.map(object => [object.id, object])) : null
    this.#objects = byId?.size === list?.length ? byId : null
    this.#scene = scene
    this.isWhole = true
    this.isDirty = true
    this.refusal = null
  }

  patch({ objects = [], removed = [], members = {} }: SceneChanges): void {
    const known = this.#objects
    if (!known || !this.#scene) throw new TypeError('call setScene first: its objects need ids')
    for (const id of removed) known.delete(id)
    for (const object of objects) known.set(object.id, object)
    for (const id of [...removed, ...objects.map(({ id }) => id)]) this.#ids.add(id)
    for (const name of Object.keys(members)) this.#names.add(name)
    this.#scene = { ...this.#scene, ...members }
    this.isDirty = true
    this.refusal = null
  }

  /** The message with all changes, which then count as sent. */
  takeChanges(): object {
    const [scene, objects] = [this.#scene ?? null, this.#objects]
    const [ids, names] = [[...this.#ids], [...this.#names]]
    const isWhole = this.isWhole
    this.#ids.clear()
    this.#names.clear()
    this.isWhole = false
    this.isDirty = false
    if (isWhole || scene === null || objects === null) {
      const whole = scene && objects ? { ...scene, objects: [...objects.values()] } : scene
      return { type: 'scene.set', scene: whole }
    }
    return {
      type: 'scene.patch',
      base: this.base,
      objects: ids.flatMap(id => objects.get(id) ?? []),
      removed: ids.filter(id => !objects.has(id)),
      members: Object.fromEntries(names.map(name => [name, scene[name]])),
      unset: names.filter(name => scene[name] === undefined),
    }
  }

  /** On a new connection: the next message has everything, unless it was refused. */
  forgetSent(): void {
    this.isWhole = true
    this.isDirty = this.#scene !== undefined && this.refusal === null
  }
}

/** JSON with `NaN` for each number that is not finite, of which the server warns. `mark`: no value. */
function toJson(message: object, mark: string): string {
  const text = JSON.stringify(message)
  if (!text.includes('null')) return text
  const marked = JSON.stringify(message, (_, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? mark : value,
  )
  return marked.replaceAll(`"${mark}"`, 'NaN')
}

/** The handshake of a WebSocket does not say why it failed; a plain request does. */
async function whyNotOpen(url: string, headers: Record<string, string>): Promise<HostLinkError> {
  const page = pageOrigin === undefined ? '' : `, or it has no --app-origin ${pageOrigin}`
  const none = new HostLinkError('unreachable', `no server opens the link at ${url}${page}`)
  try {
    const answer = await fetch(url, { headers })
    const { code, detail } = (await answer.json()) as { code?: string; detail: string }
    // Another program may answer there.
    if (!code) return none
    // The token is right and the place, too.
    const full = `the server at ${url} did not open the link: it may have too many`
    return answer.status === 426
      ? new HostLinkError('disconnected', full)
      : new HostLinkError(code, detail)
  } catch {
    return none
  }
}
