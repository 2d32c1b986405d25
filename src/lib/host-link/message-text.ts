import { exceedsDepth, finiteJsonText, NumberError } from '../util/json.ts'

/** Levels of a value inside a message of 64 levels. */
export const maxDepth = 62

/**
 * Serialises a value at once, so that later changes do not affect the message. Throws `TypeError`
 * that starts with `what` for NaN and infinities, a cycle, a value without JSON form or one nested
 * too deeply.
 */
export function jsonText(value: unknown, what: string): string {
  let text: string | undefined
  try {
    text = finiteJsonText(value)
  } catch (cause) {
    if (cause instanceof NumberError) throw new TypeError(`${what} ${cause.message}`)
    throw new TypeError(`${what} cannot be written as JSON`, { cause })
  }
  if (text === undefined) throw new TypeError(`${what} has no JSON form`)
  if (exceedsDepth(text, maxDepth)) {
    throw new TypeError(`${what} is nested deeper than ${maxDepth} levels`)
  }
  return text
}

/** Like `jsonText`, but also refuses anything whose JSON is not an object. */
export function jsonObjectText(value: unknown, what: string): string {
  const text = jsonText(value, what)
  if (!text.startsWith('{')) throw new TypeError(`${what} must be a JSON object`)
  return text
}

/** Members of a message, each as JSON text; undefined ones are omitted. */
export type RawMembers = Readonly<Record<string, string | undefined>>

/** One message of the link. */
export function messageText(type: string, members: RawMembers = {}): string {
  let text = `{"type":${JSON.stringify(type)}`
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined) text += `,${JSON.stringify(name)}:${value}`
  }
  return `${text}}`
}

/** An `error` message: the answer to a question, or to an invalid message. */
export function errorText(
  id: string | undefined,
  { code, message, retryable }: { code: string; message: string; retryable: boolean },
): string {
  return messageText('error', {
    id: id === undefined ? undefined : JSON.stringify(id),
    code: JSON.stringify(code),
    message: JSON.stringify(message.slice(0, 1000)),
    retryable: String(retryable),
  })
}
