import type { Logger } from '../util/logger.ts'
import { pause, type Timer } from '../util/time.ts'
import { isScheme } from '../mcp/uris.ts'
import type { ClientLimits } from './host-client-options.ts'
import { type Feed, Pump } from './feeds.ts'
import { jsonText, messageText } from './message-text.ts'
import type { AskFailure, Link } from './link.ts'
import type { LinkDescriptor, LinkTemplate } from './wire.ts'

/** One entry of what `read` returns: exactly one of `text` and `blob`. */
export interface HostContent {
  /** The requested URI, query included. */
  readonly uri: string
  readonly mimeType?: string
  readonly text?: string
  /** Bytes, or padded base64. */
  readonly blob?: Uint8Array | string
}

/** Resources of the application under one URI scheme. */
export interface HostProducer {
  /** Without `://`: a letter, then letters, digits, `+`, `-`, `.`; lower case. */
  readonly scheme: string
  /** All current resources, at most 2000. Called at every welcome and every `listChanged`. */
  list(): readonly LinkDescriptor[] | Promise<readonly LinkDescriptor[]>
  /**
   * The contents of a URI. Throws `ResourceNotFound` or `HostBusy`; the details of other errors are
   * hidden from clients. `signal` is aborted when the client no longer waits.
   */
  read(uri: string, signal: AbortSignal): readonly HostContent[] | Promise<readonly HostContent[]>
  /** Templates of URIs that `list` does not enumerate. */
  templates?(): readonly LinkTemplate[]
}

interface ProducersParts {
  readonly limits: ClientLimits
  readonly timer: Timer
  readonly log: Logger
  readonly refused: (scheme: string, failure: AskFailure) => void
}

/** One registration. */
interface Entry {
  readonly producer: HostProducer
  state: 'new' | 'changed' | 'sent' | 'removed'
  readonly updates: Set<string>
}

/** The producers of the application. Offers them after every welcome and sends their changes. */
export class Producers implements Feed {
  readonly #parts: ProducersParts
  readonly #entries = new Map<string, Entry>()
  /** Removed schemes that the server still offers. */
  readonly #gone = new Set<string>()
  readonly #pump = new Pump(link => this.#turn(link))

  constructor(parts: ProducersParts) {
    this.#parts = parts
  }

  add(producer: HostProducer): Entry {
    const { scheme } = producer
    if (!isScheme(scheme)) {
      throw new TypeError(`invalid URI scheme "${scheme}": lower-case letters, digits, + - .`)
    }
    if (this.#entries.has(scheme))
      throw new TypeError(`the scheme ${scheme} already has a producer`)
    const entry: Entry = { producer, state: 'new', updates: new Set() }
    this.#entries.set(scheme, entry)
    this.#gone.delete(scheme)
    this.#pump.wake()
    return entry
  }

  listChanged(entry: Entry): void {
    if (entry.state === 'sent') entry.state = 'changed'
    this.#pump.wake()
  }

  updated(entry: Entry, uri: string): void {
    if (entry.state === 'removed') return
    const { updates } = entry
    updates.add(uri)
    if (updates.size > this.#parts.limits.maxPendingUpdates) {
      const [oldest = uri] = updates
      updates.delete(oldest)
    }
    this.#pump.wake()
  }

  remove(entry: Entry): void {
    if (entry.state === 'removed') return
    entry.state = 'removed'
    this.#entries.delete(entry.producer.scheme)
    this.#gone.add(entry.producer.scheme)
    this.#pump.wake()
  }

  attach(link: Link): void {
    this.#gone.clear()
    for (const entry of this.#entries.values()) entry.state = 'new'
    this.#pump.attach(link)
  }

  find(scheme: string): HostProducer | undefined {
    return this.#entries.get(scheme)?.producer
  }

  async #turn(link: Link): Promise<void> {
    for (const scheme of this.#gone) {
      this.#gone.delete(scheme)
      await link.ask('producer.unregister', { scheme: JSON.stringify(scheme) })
    }
    for (const entry of [...this.#entries.values()]) {
      if (!link.open) return
      await this.#sendList(link, entry)
      for (const uri of entry.updates) {
        await link.drained()
        if (!link.open) return
        entry.updates.delete(uri)
        link.send(messageText('resource.updated', { uri: JSON.stringify(uri) }))
      }
    }
  }

  async #sendList(link: Link, entry: Entry): Promise<void> {
    const { state, producer } = entry
    if (state !== 'new' && state !== 'changed') return
    // Set before reading the list: changes during the read are sent in the next turn.
    entry.state = 'sent'
    const { scheme } = producer
    try {
      const resources = jsonText(await this.#list(link, producer), `the list of ${scheme}`)
      const templates =
        state === 'new' && producer.templates !== undefined
          ? jsonText(producer.templates(), `the templates of ${scheme}`)
          : undefined
      if (this.#entries.get(scheme) !== entry) return
      const type = state === 'new' ? 'producer.register' : 'producer.list_changed'
      const members = { scheme: JSON.stringify(scheme), resources, templates }
      const bytes = Buffer.byteLength(messageText(type, members)) + 128
      if (bytes > link.limits.max_message_bytes) {
        throw new TypeError(`the list of ${scheme} exceeds the message limit of the server`)
      }
      const reply = await link.ask(type, members)
      if (!reply.ok && link.open) this.#parts.refused(scheme, reply.failure)
    } catch (error) {
      this.#parts.log.warn({ scheme, err: error }, 'a producer failed to list its resources')
      // Reads may still work.
      if (state === 'new') await link.ask('producer.register', { scheme: JSON.stringify(scheme) })
    }
  }
  /** Times out, so that one producer cannot block the others. */
  async #list(link: Link, producer: HostProducer): Promise<readonly LinkDescriptor[]> {
    const { timer, limits } = this.#parts
    const listed = Promise.resolve(producer.list())
    const given = await Promise.race([listed, pause(timer, limits.listTimeoutMs, link.signal)])
    if (given !== undefined) return given
    listed.catch(() => {})
    throw new TypeError(`list() of ${producer.scheme} did not answer in ${limits.listTimeoutMs} ms`)
  }
}
