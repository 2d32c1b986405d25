import { asBuffer } from '../util/text.ts'
import type { Logger } from '../util/logger.ts'
import type { Timer } from '../util/time.ts'
import { HostBusy, ResourceNotFound, answerFailure } from './errors.ts'
import { errorText, jsonText, messageText } from './message-text.ts'
import type { Link, ServerWord } from './link.ts'
import type { Pictures } from './pictures.ts'
import type { HostContent, HostProducer } from './producers.ts'

interface QuestionsParts {
  readonly find: (scheme: string) => HostProducer | undefined
  readonly pictures: Pick<Pictures, 'take'>
  readonly timer: Timer
  readonly log: Logger
}

type Question = Extract<ServerWord, { type: 'read' | 'list' | 'capture' }>
/** The frames of one answer, sent without others in between. */
type Frames = readonly (string | Uint8Array)[]

/** Cancelled reads may still run: at most this many times `max_in_flight` in all. */
const runningFactor = 4

/** Answers the requests of the server, each once unless the server cancels it. */
export class Questions {
  readonly #parts: QuestionsParts
  readonly #open = new Map<string, AbortController>()
  #running = 0

  constructor(parts: QuestionsParts) {
    this.#parts = parts
  }

  cancel(id: string): void {
    this.#open.get(id)?.abort()
  }

  /** Never rejects. */
  async answer(link: Link, question: Question): Promise<void> {
    const { id } = question
    const given = new AbortController()
    const giveUp = () => given.abort()
    const cancelTimer = this.#parts.timer.after(question.deadline_ms, giveUp)
    link.signal.addEventListener('abort', giveUp)
    this.#open.get(id)?.abort()
    this.#open.set(id, given)
    this.#running++
    const frames = await this.#answerFrames(link, question, given.signal)
    this.#running--
    cancelTimer()
    link.signal.removeEventListener('abort', giveUp)
    if (this.#open.get(id) === given) this.#open.delete(id)
    if (given.signal.aborted) return
    await link.drained()
    for (const frame of frames) link.send(frame)
  }

  async #answerFrames(link: Link, question: Question, signal: AbortSignal): Promise<Frames> {
    const { id } = question
    try {
      if (question.type === 'capture') return await this.#pictureFrames(question, signal)
      const message = messageText('ok', {
        id: JSON.stringify(id),
        ...(await this.#answerMembers(link, question, signal)),
      })
      const most = link.limits.max_message_bytes
      if (Buffer.byteLength(message) <= most) return [message]
      const said = `the answer exceeds the message limit of ${most} bytes`
      return [errorText(id, { code: 'limit', message: said, retryable: false })]
    } catch (error) {
      const failure = answerFailure(error)
      if (failure.code === 'internal' && !signal.aborted) {
        this.#parts.log.warn({ err: error }, 'cannot answer a request of the server')
      }
      return [errorText(id, failure)]
    }
  }

  async #pictureFrames(
    question: Extract<Question, { type: 'capture' }>,
    signal: AbortSignal,
  ): Promise<Frames> {
    const { id, target, shot, max_width: maxWidth, max_bytes: maxBytes } = question
    const asked = { target, maxWidth, maxBytes, signal, ...(shot && { shot }) }
    const { png, window, view } = await this.#parts.pictures.take(asked)
    const answer = messageText('ok', {
      id: JSON.stringify(id),
      png_bytes: String(png.length),
      window: window === undefined ? undefined : jsonText(window, 'the window of the picture'),
      view: view === undefined ? undefined : jsonText(view, 'the view of the picture'),
    })
    return [answer, png]
  }

  async #answerMembers(
    link: Link,
    question: Exclude<Question, { type: 'capture' }>,
    signal: AbortSignal,
  ): Promise<Record<string, string>> {
    if (this.#running > link.limits.max_in_flight * runningFactor) {
      throw new HostBusy('too many open requests')
    }
    if (question.type === 'list') {
      const producer = this.#parts.find(question.scheme)
      if (producer === undefined) throw new ResourceNotFound(`${question.scheme}://`)
      return { resources: jsonText(await producer.list(), 'the list') }
    }
    const { uri } = question
    const producer = this.#parts.find(uri.slice(0, Math.max(0, uri.indexOf(':'))).toLowerCase())
    if (producer === undefined) throw new ResourceNotFound(uri)
    return { contents: contentsText(await producer.read(uri, signal)) }
  }
}

/** Serialises contents, bytes as base64. Throws `TypeError` for invalid ones. */
function contentsText(contents: unknown): string {
  if (!Array.isArray(contents)) throw new TypeError('read must return an array of contents')
  const plain = contents.map((content: HostContent) => {
    const { uri, mimeType, text, blob } = content
    if (typeof uri !== 'string' || (text === undefined) === (blob === undefined)) {
      throw new TypeError('each of the contents needs a uri, and either text or blob')
    }
    if (text !== undefined && typeof text !== 'string') throw new TypeError('text must be a string')
    const encoded = blob instanceof Uint8Array ? asBuffer(blob).toString('base64') : blob
    return { uri, mimeType, text, blob: encoded }
  })
  return jsonText(plain, 'the contents')
}
