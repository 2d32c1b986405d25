import { isSecretMember } from '../util/sensitive-name.ts'

const maxDepth = 6

/**
 * The fields of a log record with secret members replaced, at any depth. Members are judged by
 * their name; `host_token_file` holds a path and stays.
 */
export function redactSecrets(fields: object): Record<string, unknown> {
  return redactMembers(fields, 0)
}

function redactMembers(fields: object, depth: number): Record<string, unknown> {
  const clean: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    clean[name] = isSecretMember(name, value) ? '[redacted]' : redactValue(value, depth + 1)
  }
  return clean
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Error) return describeError(value)
  if (depth >= maxDepth) return '[too deep]'
  if (Array.isArray(value)) return value.map(item => redactValue(item, depth + 1))
  if (value instanceof Date) return value.toJSON()
  return redactMembers(value, depth)
}

/** Errors carry requests, headers and the like: only what describes the error is kept. */
function describeError(error: Error): Record<string, unknown> {
  const { name, message, stack } = error
  const code = 'code' in error ? error.code : undefined
  const text = typeof code === 'string' ? code : undefined
  return { type: name, message, ...(text !== undefined && { code: text }), stack }
}
