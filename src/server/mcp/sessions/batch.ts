import type { ServerResponse } from 'node:http'
import { errorMessage, type JsonText } from '../json-text.ts'
import type { Message, RequestMessage } from '../json-rpc.ts'
import type { UnsentAnswerBudget } from '../unsent-answer-budget.ts'
import { drained, sendNoAnswer, writeParts } from '../send.ts'

interface BatchParts {
  /** Null: the client cancelled it, and is not answered. */
  dispatch: (request: RequestMessage) => JsonText | null | Promise<JsonText | null>
  held: UnsentAnswerBudget
  /** False once the session has ended: what is left of the batch is then left alone. */
  isLive: () => boolean
}

/**
 * Answers a batch with one JSON array, written as the answers come: a hundred large reads are
 * never held together. Without a request in it there is nothing to answer: 202.
 */
export async function answerBatch(
  res: ServerResponse,
  messages: Message[],
  { dispatch, held, isLive }: BatchParts,
): Promise<void> {
  let open = false
  let asked = false
  for (const message of messages) {
    if (message.kind === 'notification' || message.kind === 'response') continue
    if (!isLive()) break
    const id = message.id
    asked = true
    const answer =
      message.kind === 'invalid'
        ? errorMessage(id, { code: message.code, message: message.problem })
        : await dispatch(message)
    if (answer === null) continue
    const { text, release } = held.admit(id, answer)
    try {
      if (!open) res.writeHead(200, { 'Content-Type': 'application/json' })
      await writeParts(res, [open ? ',' : '[', ...text.parts])
      open = true
      await drained(res)
    } finally {
      release?.()
    }
    if (res.destroyed) return
  }
  if (open) res.end(']')
  else if (asked) sendNoAnswer(res)
  else res.writeHead(202).end()
}
