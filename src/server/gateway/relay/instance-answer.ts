import type { Readable } from 'node:stream'
import { onAbort } from '../../../lib/util/abort.ts'
import { arrayOf, isJsonObject } from '../../../lib/util/json.ts'
import type { RelayedJson } from '../../resources/producer.ts'
import { answerError, badAnswer } from './relay-errors.ts'
import type { InstanceAnswer } from './transport.ts'

/** The first member that is passed on begins within this, and an address that it begins with ends. */
const maxHeadBytes = 4096
const firstUri = /^"contents":\[\{"uri":"([^"\\]*)"/

interface Asked {
  /** Of the JSON-RPC request. */
  readonly id: string
  /** The first member of the result that is passed on. */
  readonly member: string
  /** What was asked for, as clients of the gateway call it. */
  readonly about: string
  /** A large answer that brings nothing for so long is cut. */
  readonly silenceMs: number
}

/**
 * The members of a result from the wanted one on: as checked text, or as they come when the answer is
 * large. Rejects with the error that the instance answered, or `instance_answer_invalid`.
 */
export async function resultOf(
  { status, body }: InstanceAnswer,
  { id, member, about, silenceMs }: Asked,
  signal: AbortSignal,
): Promise<string | LargeResult> {
  const { bytes, isWhole } = await body.collect()
  try {
    if (status !== 200) throw answerError(status, bytes, about)
    const from = memberIn(bytes, id, member)
    if (!isWhole) {
      if (from === -1) throw badAnswer('it has too much around its contents')
      const [, uri] = firstUri.exec(bytes.toString('latin1', from, from + maxHeadBytes)) ?? []
      if (member === 'contents' && !isOwn(uri, about)) throw badAnswer('it has no such result')
      return new LargeResult(bytes.subarray(from), body.stream(), silenceMs, signal)
    }
    if (from === -1) throw answerError(status, bytes, about)
    const text = bytes.toString('utf8', from)
    const members = text.slice(0, -2)
    if (!text.endsWith('}}') || !isResult(members, member, about)) {
      throw badAnswer('it has no such result')
    }
    return members
  } catch (error) {
    body.destroy()
    throw error
  }
}

/** Where the member begins in the answer of a server of this program; -1: it is no such result. */
function memberIn(bytes: Buffer, id: string, member: string): number {
  const head = bytes.toString('latin1', 0, maxHeadBytes)
  if (!head.startsWith(`{"jsonrpc":"2.0","id":"${id}","result":{`)) return -1
  return head.indexOf(`"${member}":`)
}

/** Contents must not be under an address of another instance. */
function isOwn(uri: unknown, about: string): boolean {
  return typeof uri === 'string' && (uri === about || !/^instance:/i.test(uri))
}

/** Whether the text is members of one object, and contents are its own. */
function isResult(members: string, member: string, about: string): boolean {
  let result: unknown
  try {
    result = JSON.parse(`{${members}}`)
  } catch {
    return false
  }
  if (!isJsonObject(result)) return false
  if (member !== 'contents') return true
  const { contents } = result
  return (
    Array.isArray(contents) &&
    arrayOf(contents).every(item => isJsonObject(item) && isOwn(item.uri, about))
  )
}

/** The members of a large result, for one reader. */
export class LargeResult implements RelayedJson {
  readonly #start: Buffer
  readonly #body: Readable
  readonly #silenceMs: number
  readonly #untaken: NodeJS.Timeout
  readonly #release: () => void
  #isTaken = false

  constructor(start: Buffer, body: Readable, silenceMs: number, signal: AbortSignal) {
    this.#start = start
    this.#body = body
    this.#silenceMs = silenceMs
    // Its reader may have left before it could be sent.
    this.#untaken = setTimeout(() => this.discard(), silenceMs)
    this.#release = onAbort(signal, () => this.discard())
  }

  /** False: another reader has it. */
  take(): boolean {
    const isFree = !this.#isTaken
    this.#isTaken = true
    return isFree
  }

  onClose(listener: () => void): void {
    this.#body.once('close', listener)
  }

  discard(): void {
    clearTimeout(this.#untaken)
    this.#release()
    this.#body.destroy()
  }

  /** All but the two braces after the members, as fast as the reader takes it. */
  async *open(cut: () => void): AsyncGenerator<Uint8Array> {
    clearTimeout(this.#untaken)
    let held = this.#start
    const chunks = this.#body[Symbol.asyncIterator]()
    try {
      for (;;) {
        const silence = setTimeout(() => this.#body.destroy(), this.#silenceMs)
        const next = await chunks.next().finally(() => clearTimeout(silence))
        if (next.done === true) break
        yield held.subarray(0, -2)
        held = Buffer.concat([held.subarray(-2), next.value as Buffer])
      }
      if (held.toString('latin1', held.length - 2) === '}}') yield held.subarray(0, -2)
      else cut()
    } catch {
      // Half of it is out: only a cut connection tells the reader that it is not whole.
      cut()
    } finally {
      this.discard()
    }
  }
}
