import { ServiceError } from '../../util/errors.ts'
import { jsonRpcCodes, type RequestId } from '../json-rpc.ts'
import { pause, retryDelay } from '../../util/time.ts'
import { exchange, type Exchanged } from '../bridge/exchange.ts'
import { errorMessage } from '../bridge/rpc.ts'
import { asAnswer } from './ask.ts'
import type { ClientContext, SubscriptionEnd, Subscription } from './context.ts'
import { failureOf } from './failure.ts'

interface PushesParts {
  readonly context: ClientContext
  readonly url: URL
  /** Headers of the session. */
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly updated: () => void
  /** Sends the answer to a request of the server. */
  readonly reply: (body: string) => Promise<void>
}

const updatedMethod = 'notifications/resources/updated'
/** After this many short streams in a row the server counts as lost. */
const maxShortStreams = 5
const shortMs = 1000

/**
 * Opens the GET stream of a session for updates, and reopens it when the server ends it. Resolves
 * when it is open; rejects when the server refuses it.
 */
export async function openPushes(parts: PushesParts): Promise<Subscription> {
  const opened = Promise.withResolvers<void>()
  const ended = follow(parts, opened.resolve)
  const cancel = parts.context.timer.after(parts.context.limits.standMs, () => opened.resolve())
  try {
    const first = await Promise.race([opened.promise, ended])
    if (first === undefined) return { ended }
    if (first.kind === 'refused') throw first.error
    throw new ServiceError('network_failed', `${parts.url.host} is lost: ${first.reason}`)
  } finally {
    cancel()
  }
}

async function follow(parts: PushesParts, opened: () => void): Promise<SubscriptionEnd> {
  const { context, signal, updated } = parts
  let short = 0
  for (let gap = false; ; gap = true) {
    let begunMs: number | null = null
    const ended = await stream(parts, () => {
      begunMs = performance.now()
      opened()
      // The resource may have changed during the gap.
      if (gap) updated()
    })
    const lived = begunMs !== null && performance.now() - begunMs > shortMs
    short = lived ? 0 : short + 1
    if (ended.kind !== 'ended' || short > maxShortStreams) return endOf(parts, ended)
    const delayMs = Math.max(retryDelay(short, Math.random), ended.retryMs ?? 0)
    await pause(context.timer, delayMs, signal)
    if (signal.aborted) return { kind: 'lost', reason: 'it was stopped' }
  }
}

function endOf({ url, context }: PushesParts, ended: Exchanged): SubscriptionEnd {
  const { kind } = ended
  if (kind === 'broken') return { kind: 'lost', reason: ended.reason }
  if (kind === 'aborted') return { kind: 'lost', reason: 'it was stopped' }
  if (kind === 'ended') return { kind: 'lost', reason: 'it keeps closing its event stream' }
  if (kind === 'refused' && ended.status === 404) {
    return { kind: 'lost', reason: 'it has ended the session' }
  }
  if (kind === 'refused' && ended.status >= 500) {
    return { kind: 'lost', reason: `it answers with HTTP ${ended.status}` }
  }
  if (kind === 'refused' && ended.status === 405) {
    const message = 'the server has no event stream for updates (HTTP 405)'
    return { kind: 'refused', error: new ServiceError('request_refused', message) }
  }
  const { keyed, limits } = context
  const { maxAnswerBytes } = limits
  return {
    kind: 'refused',
    error: failureOf(asAnswer(ended), { url, method: 'GET', keyed, maxAnswerBytes }),
  }
}

function stream(
  { context, url, headers, signal, updated, reply }: PushesParts,
  begun: () => void,
): Promise<Exchanged> {
  return exchange(
    // A quiet stream is not broken.
    { ...context, silenceMs: null },
    {
      url,
      method: 'GET',
      headers: { ...headers, Accept: 'text/event-stream' },
      repeatable: true,
      answerMs: context.limits.answerMs,
      signal,
    },
    {
      begun,
      async deliver({ messages }) {
        for (const message of messages) {
          if (message.kind === 'notification' && message.method === updatedMethod) updated()
          if (message.kind === 'request') void reply(answerTo(message)).catch(() => {})
        }
        return true
      },
    },
  )
}

/** Answers `ping`, or the server would end the session; refuses other requests. */
function answerTo({ id, method }: { id: RequestId; method: string }): string {
  if (method === 'ping') return JSON.stringify({ jsonrpc: '2.0', id, result: {} })
  return errorMessage(id, {
    code: jsonRpcCodes.methodNotFound,
    message: 'this client only reads resources',
  })
}
