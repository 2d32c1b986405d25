import type { ServiceError } from '../../util/errors.ts'
import type { ClientContext, McpSession } from './context.ts'
import { failureOf } from './failure.ts'
import { type OpenAnswer, openSession } from './session-transport.ts'
import { openStateless } from './stateless-transport.ts'

/**
 * Speaks to the server at the address: with a session, which servers of every age know, or without
 * where it only serves 2026-07-28. Rejects with `ServiceError`.
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

/** What servers that only know the stateless transport answer `initialize` with. */
function mayBeStateless(answer: OpenAnswer): boolean {
  if (answer.kind === 'error') return true
  return answer.kind === 'refused' && [400, 404, 405].includes(answer.status)
}

function openFailure(context: ClientContext, url: URL, answer: OpenAnswer): ServiceError {
  const { keyed, limits } = context
  const { maxAnswerBytes } = limits
  return failureOf(answer, { url, method: 'initialize', keyed, maxAnswerBytes })
}
