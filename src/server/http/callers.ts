import type { IncomingMessage, ServerResponse } from 'node:http'
import { maxTimerMs } from '../../lib/util/time.ts'
import {
  type AuthOutcome,
  type AuthPolicy,
  type AuthRefused,
  challenge,
  writeRefused,
} from './authentication.ts'
import type { RefusedRequest } from './refusal-log.ts'
import { endRefused } from './problem.ts'
import type { RequestContext } from './request-context.ts'

/** Lets callers in by a policy, and cuts what is open to a caller whose access ends. */
export class Callers {
  readonly #policy: AuthPolicy
  readonly #onRefused: (refused: RefusedRequest) => void

  constructor(policy: AuthPolicy, onRefused: (refused: RefusedRequest) => void) {
    this.#policy = policy
    this.#onRefused = onRefused
  }

  /** Whether the caller is let in; otherwise the request is answered. */
  admit(
    req: IncomingMessage,
    res: ServerResponse,
    context: RequestContext,
  ): boolean | Promise<boolean> {
    const { method, headers } = req
    const outcome = this.#policy.authenticate({ method, headers, peer: context.peer })
    if (!(outcome instanceof Promise)) return this.#settle(res, context, outcome)
    return outcome.then(settled => this.#settle(res, context, settled))
  }

  #settle(res: ServerResponse, context: RequestContext, outcome: AuthOutcome): boolean {
    if (!outcome.ok) {
      this.#refuse(res, context, outcome)
      return false
    }
    const { principal, mayWrite = true, mayAnswer = mayWrite, expiresAtMs, viewer, watch } = outcome
    Object.assign(context, { principal, mayWrite, mayAnswer, viewer })
    // A client that left while it was authenticated closes nothing any more.
    if (res.destroyed) return false
    const { onClose } = context
    // Pushed one by one: a single closure over both kept whole requests alive until V8's next full
    // collection, and cost a third of the time of a read.
    // Cut, not ended: the client comes back and is told why it is not let in any more.
    if (watch !== undefined) onClose.push(watch(() => void res.destroy()))
    if (expiresAtMs !== undefined) {
      const delayMs = Math.min(expiresAtMs - Date.now(), maxTimerMs)
      const timer = setTimeout(() => res.destroy(), delayMs)
      onClose.push(() => clearTimeout(timer))
    }
    return true
  }

  /** Refuses a request that would change something, of a caller who may only read. */
  refuseWrite(res: ServerResponse, context: RequestContext): void {
    this.#refuse(res, context, this.#policy.refuseWrite?.() ?? writeRefused)
  }

  #refuse(res: ServerResponse, context: RequestContext, refused: AuthRefused): void {
    const { path, peer, principal } = context
    const { status, error = 'invalid_request', description, retryAfterSeconds } = refused
    const headers: Record<string, string> = { 'Content-Type': 'application/json' }
    // The others refuse no caller: another token would not help.
    if (status !== 503 && status !== 421) {
      // A client asks so whether it needs a key, as `mcp-config` does.
      const isQuestion = refused.error === undefined && res.req.method === 'GET' && path === '/mcp'
      const reason = status === 429 ? 'too_many_failures' : (refused.error ?? 'no_credentials')
      const caller = principal === '' ? undefined : principal
      if (!isQuestion) this.#onRefused({ status, reason, peer, principal: caller })
      headers['WWW-Authenticate'] = challenge(refused)
    }
    if (retryAfterSeconds !== undefined) headers['Retry-After'] = String(retryAfterSeconds)
    const text = JSON.stringify({ error, error_description: description })
    endRefused(res, status, headers, text)
  }
}
