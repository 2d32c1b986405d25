import { exceedsDepth } from '../util/json.ts'

/** Levels of a value inside a message of 64 levels. */
const maxDepth = 62

/**
 * The JSON text of a value, so that what changes afterwards does not change the message. Throws
 * `TypeError` that starts with `what` for a number that JSON lacks, a cycle, a value without JSON
 * form or one nested too deeply.
 */
export function jsonText(value: unknown, what: string): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
    // Numbers that JSON lacks become `null`: only a text with one needs the slow look.
    if (text?.includes('null')) JSON.stringify(value, refuseNonFinite)
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

/** As above; anything but an object is refused, too, also when `toJSON` makes it so. */
export function jsonObjectText(value: unknown, what: string): string {
  const text = jsonText(value, what)
  if (!text.startsWith('{')) throw new TypeError(`${what} must be a JSON object`)
  return text
}

class NumberError extends Error {}

function refuseNonFinite(key: string, value: unknown): unknown {
  const number = value instanceof Number ? value.valueOf() : value
  if (typeof number === 'number' && !Number.isFinite(number)) {
    throw new NumberError(`holds ${number} at member ${JSON.stringify(key.slice(0, 100))}`)
  }
  return value
}

/** Members of a message as JSON text each; undefined ones are left out. */
export type RawMembers = Readonly<Record<string, string | undefined>>

/** One message of the link. */
export function messageText(type: string, members: RawMembers = {}): string {
  let text = `{"type":${JSON.stringify(type)}`
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined) text += `,${JSON.stringify(name)}:${value}`
  }
  return `${text}}`
}

/** The error to a question, or to a message that is not taken. */
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
