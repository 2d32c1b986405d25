import type { ServiceError } from '../../util/errors.ts'
import type { ClientContext, McpSession } from './context.ts'
import { failureOf } from './failure.ts'
import type { Failed } from './ask.ts'
import { openSession } from './session-transport.ts'
import { openStateless } from './stateless-transport.ts'

/**
 * Connects to a server with a session, or with the stateless transport when the server offers only
 * that. Rejects with `ServiceError`.
 */
export async function openMcp(
  context: ClientContext,
  url: URL,
  signal: AbortSignal,
): Promise<McpSession> {
  const session = await openSession(context, url, signal)
  if (session.ok) return session.value
  if (mayBeStateless(session.failure)) {
    const stateless = await openStateless(context, url, signal)
    if (stateless.ok) return stateless.value
  }
  throw openFailure(context, url, session.failure)
}

/** True for answers to `initialize` of servers that offer only the stateless transport. */
function mayBeStateless(answer: Failed): boolean {
  if (answer.kind === 'error') return true
  return answer.kind === 'refused' && [400, 404, 405].includes(answer.status)
}

function openFailure(context: ClientContext, url: URL, answer: Failed): ServiceError {
  const { keyed, limits } = context
  const { maxAnswerBytes } = limits
  return failureOf(answer, { url, method: 'initialize', keyed, maxAnswerBytes })
}
