import { z } from 'zod'
import { ServiceError } from '../util/errors.ts'
import { escapePointer, isJsonObject } from '../util/json.ts'

/**
 * The value as the schema makes it. Throws `body_invalid`, which names the first wrong member by
 * its JSON pointer (RFC 6901) below `at` and says what it must be.
 */
export function orThrow<Value>(schema: z.ZodType<Value>, value: unknown, at = ''): Value {
  const { success, data, error } = schema.safeParse(value, { error: describe })
  if (success) return data
  const [{ path, message }] = error.issues as [z.core.$ZodIssue]
  // The pointer goes back to the client: a long name is cut.
  const names = path.map(name => `/${escapePointer(String(name).slice(0, 64))}`)
  throw invalidMember(at + names.join(''), message)
}

/** `pointer` is empty when the value itself is wrong. */
export function invalidMember(pointer: string, detail: string): ServiceError {
  const message = `${pointer} ${detail}`.trimStart()
  return new ServiceError('body_invalid', message, { data: { errors: [{ pointer, detail }] } })
}

/** An error for a schema. A missing member is said to be required instead. */
export function must(detail: string) {
  return {
    error: ({ input }: { input?: unknown }) => (input === undefined ? undefined : `must ${detail}`),
  }
}

/** On the link a member that is null counts as absent. */
export function withoutNulls(value: unknown): unknown {
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
}

const kinds: Partial<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  number: 'a number',
  object: 'an object',
  string: 'a string',
}

function describe(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined) return 'is required'
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be ${issue.values.join(' or ')}`
    case 'too_small':
      if (issue.origin === 'string') return 'must not be empty'
      return `must ${issue.origin === 'array' ? 'have' : 'be'} at least ${issue.minimum}`
    case 'too_big':
      if (issue.origin === 'string') return `must have at most ${issue.maximum} characters`
      return `must ${issue.origin === 'array' ? 'have' : 'be'} at most ${issue.maximum}`
  }
}
