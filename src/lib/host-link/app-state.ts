import { omitUndefined } from '../util/members.ts'
import { type Feed, Pump } from './feeds.ts'
import { messageText } from './message-text.ts'
import type { Link } from './link.ts'
import {
  type AppIdentity,
  type DocumentState,
  type Mode,
  type PictureOffer,
  protocolVersion,
} from './wire.ts'

/** The application that connects. */
export interface HostApp {
  /** Lower-case letters, digits, `_`, `-`: `blender`. */
  readonly dccType: string
  /** `gui` with a window, `background` without. */
  readonly mode: Mode
  readonly version?: string
  /** The process that owns the window. Default: this process. */
  readonly pid?: number
  /** The name for people: `Blender 4.2`. */
  readonly displayName?: string
}

interface AppStateParts {
  readonly app: HostApp
  readonly instanceId: string
  readonly document: DocumentState | null
  readonly clientVersion: string
  /** The server is to tell of the notes of the open document. */
  readonly showsNotes: boolean
  /** Makes a heartbeat; a change of `busy` sends one at once. */
  readonly heartbeat: () => string
}

const maxTextChars = 4096
/** Counts UTF-16 units, like the server. */
const nameForm = /^[^\x00-\x1f\x7f]{1,255}$/

/** The state of the application, sent in the hello and after each change. */
export class AppState implements Feed {
  readonly #parts: AppStateParts
  readonly #pump = new Pump(link => this.#turn(link))
  #document: DocumentState | null
  #mode: Mode
  #pictures: PictureOffer = { targets: [] }
  #busy: string | null = null
  #changed = false
  #busyChanged = false

  constructor(parts: AppStateParts) {
    const { app, instanceId, document } = parts
    if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(app.dccType)) {
      const form = 'lower-case letters, digits, _ and -, at most 64, the first a letter or digit'
      throw new TypeError(`app.dccType must be of ${form}`)
    }
    if (app.pid !== undefined && !(Number.isSafeInteger(app.pid) && app.pid > 0)) {
      throw new TypeError('app.pid must be a whole number above 0')
    }
    const names = { instanceId, version: app.version, displayName: app.displayName }
    for (const [name, value] of Object.entries(names)) {
      if (value === undefined || nameForm.test(value)) continue
      throw new TypeError(`${name} must have 1 to 255 characters, none of them a control character`)
    }
    this.#parts = parts
    this.#document = checkDocument(document)
    this.#mode = checkMode(app.mode)
  }

  get busy(): string | null {
    return this.#busy
  }

  setDocument(document: DocumentState | null): void {
    this.#document = checkDocument(document)
    this.#changed = true
    this.#pump.wake()
  }

  setMode(mode: Mode): void {
    this.#mode = checkMode(mode)
    this.#changed = true
    this.#pump.wake()
  }

  setPictures(pictures: PictureOffer): void {
    this.#pictures = pictures
    this.#changed = true
    this.#pump.wake()
  }

  setBusy(busy: string | null): void {
    if (busy !== null && !nameForm.test(busy)) {
      throw new TypeError('busy must be null or have 1 to 255 characters, none a control character')
    }
    if (busy === this.#busy) return
    this.#busy = busy
    this.#busyChanged = true
    this.#pump.wake()
  }

  /** The first message of a link, with the whole state. */
  hello(): string {
    const { app, instanceId, clientVersion, showsNotes } = this.#parts
    const identity: AppIdentity = omitUndefined({
      dcc_type: app.dccType,
      mode: this.#mode,
      pid: app.pid ?? process.pid,
      version: app.version,
      display_name: app.displayName,
    })
    this.#changed = false
    const { targets, denied } = this.#pictures
    const offers = targets.length > 0 || denied === true
    return messageText('hello', {
      protocol: JSON.stringify([protocolVersion]),
      client: JSON.stringify({ name: 'service-cli/host-client', version: clientVersion }),
      app: JSON.stringify(identity),
      instance_id: JSON.stringify(instanceId),
      document: JSON.stringify(this.#document),
      // Without the member the server assumes no offer.
      capture: offers ? JSON.stringify(this.#pictures) : undefined,
      notes: showsNotes ? 'true' : undefined,
    })
  }

  attach(link: Link): void {
    // The first heartbeat of a link contains `busy`.
    this.#busyChanged = false
    this.#pump.attach(link)
  }

  async #turn(link: Link): Promise<void> {
    if (this.#changed) {
      this.#changed = false
      const document = JSON.stringify(this.#document)
      // The checks above rule out a refusal; after a lost link a new hello repeats the state.
      const mode = JSON.stringify(this.#mode)
      const capture = JSON.stringify(this.#pictures)
      await link.ask('app.update', { document, mode, capture })
    }
    if (this.#busyChanged) {
      this.#busyChanged = false
      link.send(this.#parts.heartbeat())
    }
  }
}

function checkMode(mode: Mode): Mode {
  if (mode === 'gui' || mode === 'background') return mode
  throw new TypeError('mode must be gui or background')
}

function checkDocument(document: DocumentState | null): DocumentState | null {
  if (document === null) return null
  const { path, name, modified } = document
  for (const value of [path, name]) {
    if (value === undefined) continue
    if (typeof value !== 'string' || value.length > maxTextChars) {
      throw new TypeError(`document path and name are texts of up to ${maxTextChars} characters`)
    }
  }
  if (modified !== undefined && typeof modified !== 'boolean') {
    throw new TypeError('document.modified must be true or false')
  }
  return omitUndefined({ path, name, modified })
}
