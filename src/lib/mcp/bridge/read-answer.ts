import type { IncomingMessage } from 'node:http'
import type { Timer } from '../../util/timer.ts'
import type { HeldBytes } from './held-bytes.ts'
import type { BridgeLimits } from './limits.ts'
import { type SseEvent, SseParser } from './sse-parser.ts'
import { Unreachable } from './unreachable.ts'

export interface ReadAnswerParts {
  readonly limits: Pick<BridgeLimits, 'maxAnswerBytes'>
  readonly held: HeldBytes
  readonly timer: Timer
  /** Nothing arrives for so long: the answer is given up. Null for a stream that may be quiet. */
  readonly silenceMs: number | null
}

/**
 * The texts of an answer, each when it is complete; nothing further is read until the next is asked
 * for. Throws `Unreachable` when the answer is cut off.
 */
export async function* readAnswer(
  answer: IncomingMessage,
  parts: ReadAnswerParts,
): AsyncGenerator<SseEvent> {
  const type = mediaType(answer)
  if (type === 'text/event-stream') yield* readEvents(answer, parts)
  else yield* readWhole(answer, parts)
}

export function mediaType({ headers }: IncomingMessage): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

async function* readEvents(
  answer: IncomingMessage,
  parts: ReadAnswerParts,
): AsyncGenerator<SseEvent> {
  const parser = new SseParser(parts.limits.maxAnswerBytes)
  const share = parts.held.share()
  try {
    for await (const chunk of chunksOf(answer, parts)) {
      for (const event of parser.push(chunk)) {
        // Beside what is kept of the next: this one, until the client has room for it.
        if (event.kind === 'message' && !share.set(parser.held + event.data.length)) {
          yield { kind: 'oversize' }
        } else yield event
      }
      if (!share.set(parser.held)) parser.dropEvent()
    }
  } finally {
    share.set(0)
  }
}

async function* readWhole(
  answer: IncomingMessage,
  parts: ReadAnswerParts,
): AsyncGenerator<SseEvent> {
  const chunks: Buffer[] = []
  let bytes = 0
  const share = parts.held.share()
  try {
    for await (const chunk of chunksOf(answer, parts)) {
      bytes += chunk.length
      if (bytes > parts.limits.maxAnswerBytes || !share.set(bytes)) {
        yield { kind: 'oversize' }
        return
      }
      chunks.push(chunk)
    }
    if (bytes > 0) yield { kind: 'message', data: Buffer.concat(chunks) }
  } finally {
    share.set(0)
  }
}

async function* chunksOf(
  answer: IncomingMessage,
  { silenceMs, timer }: ReadAnswerParts,
): AsyncGenerator<Buffer> {
  const chunks = answer[Symbol.asyncIterator]()
  try {
    for (;;) {
      // Only while it is waited for: a client that reads slowly is no silence of the server.
      const cancel =
        silenceMs === null
          ? () => {}
          : timer.after(silenceMs, () => answer.destroy(new Unreachable('it stopped answering')))
      const next = await chunks.next().finally(cancel)
      if (next.done === true) return
      yield next.value as Buffer
    }
  } catch (error) {
    if (error instanceof Unreachable) throw error
    throw new Unreachable('the connection was cut', { cause: error })
  } finally {
    answer.destroy()
  }
}
