import type { z } from 'zod'
import { orThrow } from '../../../lib/host-link/check.ts'
import { type Message, messages } from '../../../lib/host-link/messages.ts'
import { readJson, withWarnings } from '../../../lib/host-link/read-json.ts'
import { parseExact } from '../../../lib/util/exact-json.ts'
import { endOfString, isJsonObject, type JsonObject, maxJsonDepth } from '../../../lib/util/json.ts'

/** A text frame of the application. */
export interface Frame {
  readonly text: string
  readonly value: JsonObject
  readonly type: string
  /** Absent: only an error is answered. */
  readonly id: string | undefined
  readonly warnings: ReturnType<typeof readJson>['warnings']
}

/** Messages whose values are passed on: their numbers keep their digits. */
const passedOn: ReadonlySet<string> = new Set<Message['type']>([
  'scene.patch',
  'audit.record',
  'events.append',
  'artefact.put',
])

/** Throws a `TypeError` for what is no message at all. */
export function readFrame(given: string): Frame {
  // The envelope is one level around what it carries.
  const { text, value, warnings } = readJson(given, maxJsonDepth + 1)
  if (!isJsonObject(value)) throw new TypeError('is not a JSON object')
  const { type, id } = value
  if (typeof type !== 'string') throw new TypeError('has no type')
  const exact = passedOn.has(type) ? (parseExact(text) as JsonObject) : value
  return { text, value: exact, type, id: typeof id === 'string' ? id : undefined, warnings }
}

/** Null for a type that this server does not know. Throws `body_invalid` for a wrong member. */
export function parseLinkMessage({ type, value }: Frame): Message | null {
  if (!isKnown(type)) return null
  const schema: z.ZodType<object> = messages[type]
  return { ...orThrow(schema, value), type } as Message
}

function isKnown(type: string): type is Message['type'] {
  return Object.hasOwn(messages, type)
}

/** The scene of `scene.set` as the application wrote it: numbers keep their digits. */
export function frameScene({ text, warnings }: Frame): string {
  return withWarnings(memberText(text, 'scene'), warnings)
}

/**
 * The text of one member of a JSON object. Of members with the same name the last one counts, as it
 * does when parsing; empty when there is none.
 */
function memberText(json: string, member: string): string {
  let found = ''
  let depth = 0
  let lastString = ''
  let key: unknown
  let start = 0
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at)
    const isOwn = depth === 1
    if (char === 0x22) {
      const end = endOfString(json, at + 1)
      if (isOwn) lastString = json.slice(at, end + 1)
      at = end
    } else if (char === 0x3a && isOwn) {
      key = JSON.parse(lastString)
      start = at + 1
    } else if (char === 0x5b || char === 0x7b) depth++
    else if (char === 0x5d || char === 0x7d) depth--
    const isEnd = isOwn && (char === 0x2c || depth === 0)
    if (isEnd && key === member) found = json.slice(start, at).trim()
  }
  return found
}
