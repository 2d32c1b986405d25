import { type ErrorCode, messageOf, ServiceError } from '../util/errors.ts'
import { hideTokens } from '../util/secret.ts'
import { cleanLines, jsonLine } from '../util/text.ts'

/**
 * What a user is told of any thrown value: only code, message and hint, because other members, such
 * as request headers, may hold a secret.
 */
export function describeFailure(error: unknown): {
  code: ErrorCode
  message: string
  hint: string | undefined
} {
  const [code, message, hint] =
    error instanceof ServiceError
      ? [error.code, error.message, error.hint]
      : (['internal', `internal: ${messageOf(error)}`] as const)
  return { code, message: cleanLines(hideTokens(message)), hint }
}

/** The description as text for stderr, or as one line of JSON for stdout. */
export function failureText(error: unknown, json: boolean): string {
  const { code, message, hint } = describeFailure(error)
  if (json) return jsonLine({ error: { code, message, hint } })
  // After Ctrl-C only the line of the question is to be ended.
  if (code === 'cancelled') return '\n'
  return `error: ${message}\n${hint === undefined ? '' : `hint: ${hint}\n`}`
}
