import type { JsonObject } from '../../util/json.ts'
import { fail, ok, type Result } from '../../util/result.ts'
import type { BridgeContext, Target } from './context.ts'
import { exchange } from './exchange.ts'
import { askServer, type OwnAnswer } from './own-request.ts'
import { notificationMessage } from './rpc.ts'
import { openedSession, type Session, sessionHeaders } from './session.ts'
import { refusalError } from './bridge-errors.ts'

export interface RestoreParts {
  readonly context: BridgeContext
  readonly target: Target
  readonly signal: AbortSignal
}

/** Subscriptions renewed concurrently. */
const batchSize = 8

/** True when the server still knows the session. */
export async function isSessionAlive(parts: RestoreParts, session: Session): Promise<boolean> {
  const answer = await ask(parts, session, 'ping', {})
  return answer.kind === 'result'
}

/**
 * Opens a new session for a client that lost one, with its `initialize` params and the negotiated
 * revision.
 */
export async function openSessionAgain(
  parts: RestoreParts,
  lost: Session,
): Promise<Result<Session, string>> {
  const params = { ...lost.params, protocolVersion: lost.revision }
  const answer = await ask(parts, null, 'initialize', params)
  if (answer.kind !== 'result') return fail(clauseOf(parts, answer))
  const session = openedSession(lost.params, answer.result, answer.headers)
  if (session === null) return fail('invalid initialize result')
  if (session.revision !== lost.revision) {
    const what = `${session.revision} instead of ${lost.revision}`
    return fail(`it now speaks revision ${what}; restart the client`)
  }
  if (lost.initialized) {
    const notified = await notifyInitialized(parts, session)
    if (!notified.ok) return notified
    session.initialized = true
  }
  return ok(session)
}

/** Subscribes to all URIs. Resolves with those that the server refused. */
export async function subscribeAgain(
  parts: RestoreParts,
  session: Session,
  uris: readonly string[],
): Promise<Result<string[], string>> {
  const refused: string[] = []
  for (let at = 0; at < uris.length; at += batchSize) {
    const some = uris.slice(at, at + batchSize)
    const answers = await Promise.all(
      some.map(uri => ask(parts, session, 'resources/subscribe', { uri })),
    )
    const broken = answers.find(answer => answer.kind === 'broken' || answer.kind === 'refused')
    if (broken !== undefined) return fail(clauseOf(parts, broken))
    refused.push(...some.filter((_, index) => answers[index]?.kind === 'error'))
  }
  return ok(refused)
}

async function notifyInitialized(
  { context, target, signal }: RestoreParts,
  session: Session,
): Promise<Result<void, string>> {
  const { restoreMs } = context.limits
  const ended = await exchange(
    { ...context, silenceMs: restoreMs },
    {
      url: target.url,
      method: 'POST',
      headers: sessionHeaders(session),
      body: notificationMessage('notifications/initialized'),
      repeatable: true,
      answerMs: restoreMs,
      signal,
    },
    { deliver: async () => true },
  )
  return ended.kind === 'broken' ? fail(ended.reason) : ok(undefined)
}

function ask(
  { context, target, signal }: RestoreParts,
  session: Session | null,
  method: string,
  params: JsonObject,
): Promise<OwnAnswer> {
  const headers = sessionHeaders(session)
  return askServer(context, { target, headers, method, params, signal })
}

function clauseOf(
  { context, target }: RestoreParts,
  answer: Exclude<OwnAnswer, { kind: 'result' }>,
): string {
  switch (answer.kind) {
    case 'broken':
      return answer.reason
    case 'refused':
      return refusalError(answer, target, context.keyed).message
    case 'error':
      return `it refuses the session: ${answer.error.message}`
  }
}
