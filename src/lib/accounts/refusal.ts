import { type ErrorCode, ServiceError } from '../util/errors.ts'
import { hideSecrets, type Secret } from '../util/secret.ts'
import { type ProblemFacts, readProblem } from './answers.ts'
import type { AccountsUrl } from '../config/accounts-url.ts'
import { wrongLogin } from './protocol.ts'
import type { AccountsAnswer } from './transport.ts'

interface RefusedCall {
  readonly server: AccountsUrl
  /** In words, as in "refused the login". */
  readonly action: string
  /** What was sent and must not come back in a message. */
  readonly secrets: readonly Secret[]
}

/** An answer that is no success, as an error for people and programs. */
export function describeRefusal(answer: AccountsAnswer, call: RefusedCall): ServiceError {
  const { status } = answer
  const { origin } = call.server
  const hidden = readProblem(hideSecrets(answer.json, call.secrets))
  // A password may be one of these words.
  const isFixed = readProblem(answer.json).detail === wrongLogin
  const found = isFixed ? { ...hidden, detail: wrongLogin } : hidden
  const retryAfterMs = answer.retryAfterMs ?? found.retryAfterMs ?? null
  const said = reasonOf(found)
  const data = {
    registry: call.server.url,
    status,
    ...(said === undefined ? {} : { detail: said }),
    ...(found.code === undefined ? {} : { reason: found.code }),
    ...(found.errors.length === 0 ? {} : { errors: found.errors }),
    ...(found.requestId === undefined ? {} : { request_id: found.requestId }),
    ...(retryAfterMs === null ? {} : { retry_after: Math.ceil(retryAfterMs / 1000) }),
  }
  const code = codeOf(status)
  if (status >= 300 && status < 400) {
    const to = answer.redirectsTo
    return new ServiceError(
      code,
      `${origin} redirects, and tokens are never sent to redirect targets`,
      {
        hint:
          to === null ? 'name the address of the accounts server itself' : `if it moved, use ${to}`,
        data,
      },
    )
  }
  if (isNotOffered(status, found)) {
    return new ServiceError(code, `${origin} does not offer the ${call.action}`, {
      hint: 'check the address of the accounts server',
      data,
    })
  }
  const words = said ?? `status ${status}`
  if (code === 'registry_failed') {
    const id = found.requestId === undefined ? '' : ` (request ${found.requestId})`
    return new ServiceError(code, `${origin} failed at the ${call.action}: ${words}${id}`, {
      hint: 'try again later',
      data,
    })
  }
  if (code === 'rate_limited') {
    const wait = retryAfterMs === null ? 'a while' : `${Math.ceil(retryAfterMs / 1000)} s`
    const hint = `wait ${wait}, then try again`
    return new ServiceError(code, `${origin} refused the ${call.action}: ${words}`, { hint, data })
  }
  return new ServiceError(code, `${origin} refused the ${call.action}: ${words}`, { data })
}

function codeOf(status: number): ErrorCode {
  if (status === 401) return 'auth_refused'
  if (status === 429) return 'rate_limited'
  if (status === 501) return 'request_refused'
  if (status === 408 || status >= 500) return 'registry_failed'
  return status >= 400 ? 'request_refused' : 'registry_answer_invalid'
}

/** A server that does not know the path; one that does says what it did not find. */
function isNotOffered(status: number, { code }: ProblemFacts): boolean {
  return status === 501 || status === 405 || (status === 404 && code === undefined)
}

function reasonOf({ detail, errors }: ProblemFacts): string | undefined {
  if (errors.length === 0) return detail
  const members = errors.map(({ pointer, detail: what }) => `${pointer.replace(/^\//, '')} ${what}`)
  return members.slice(0, 5).join('; ')
}
