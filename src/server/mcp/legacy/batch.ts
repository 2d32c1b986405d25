import type { ServerResponse } from 'node:http'
import { errorMessage, type JsonText } from '../json-text.ts'
import { rpcCodes } from '../errors.ts'
import type { Message } from '../json-rpc.ts'
import { drained, writeParts } from '../send.ts'

type Request = Message & { kind: 'request' }

/**
 * Answers a batch with one JSON array, written as the answers come: a hundred large reads are
 * never held together. Without a request in it there is nothing to answer: 202.
 */
export async function answerBatch(
  res: ServerResponse,
  messages: readonly Message[],
  dispatch: (request: Request) => JsonText | Promise<JsonText>,
): Promise<void> {
  let open = false
  for (const message of messages) {
    if (message.kind === 'notification' || message.kind === 'response') continue
    const answer =
      message.kind === 'invalid'
        ? errorMessage(message.id, { code: rpcCodes.invalidRequest, message: message.problem })
        : await dispatch(message)
    if (!open) res.writeHead(200, { 'Content-Type': 'application/json' })
    await writeParts(res, [open ? ',' : '[', ...answer.parts])
    open = true
    await drained(res)
    if (res.destroyed) return
  }
  if (open) res.end(']')
  else res.writeHead(202).end()
}
