import type { z } from 'zod'
import { invalidMember, orThrow } from '../../../lib/host-link/check.ts'
import { type Message, messages, name } from '../../../lib/host-link/messages.ts'
import { readJson, withWarnings } from '../../../lib/host-link/read-json.ts'
import { parseExact } from '../../../lib/util/exact-json.ts'
import { endOfString, isJsonObject, type JsonObject, maxJsonDepth } from '../../../lib/util/json.ts'

/** A text frame of the application. */
export interface Frame {
  readonly text: string
  readonly value: JsonObject
  readonly type: string
  readonly warnings: ReturnType<typeof readJson>['warnings']
}

/** Messages whose values are passed on: their numbers keep their digits. */
const passedOn: ReadonlySet<string> = new Set<Message['type']>([
  'scene.patch',
  'audit.record',
  'events.append',
  'artefact.put',
])

const messageId = name.max(64).nullish()

/** Throws a `TypeError` for what is no message at all. */
export function readFrame(given: string): Frame {
  // The envelope is one level around what it carries.
  const { text, value, warnings } = readJson(given, maxJsonDepth + 1)
  if (!isJsonObject(value)) throw new TypeError('is not a JSON object')
  const { type } = value
  if (typeof type !== 'string') throw new TypeError('has no type')
  const exact = passedOn.has(type) ? (parseExact(text) as JsonObject) : value
  return { text, value: exact, type, warnings }
}

/** Throws `body_invalid` for an invalid one. */
export function idOf({ value }: Pick<Frame, 'value'>): string | undefined {
  const { success, data } = messageId.safeParse(value['id'])
  if (!success) throw invalidMember('/id', 'must be a name of at most 64 characters')
  return data ?? undefined
}

/** Null for a type that this server does not know. Throws `body_invalid` for a wrong member. */
export function parseMessage(frame: Frame): Message | null {
  const { type, value } = frame
  if (!isKnown(type)) return null
  const schema: z.ZodType<object> = messages[type]
  return { ...orThrow(schema, value), type } as Message
}

function isKnown(type: string): type is Message['type'] {
  return Object.hasOwn(messages, type)
}

/** The scene of `scene.set` as the application wrote it: numbers keep their digits. */
export function sceneText({ text, warnings }: Pick<Frame, 'text' | 'warnings'>): string {
  return withWarnings(memberText(text, 'scene'), warnings)
}

/**
 * The text of one member of a JSON object. Of members with the same name the last one counts, as it
 * does when parsing; empty when there is none.
 */
function memberText(json: string, member: string): string {
  let found = ''
  let at = json.indexOf('{') + 1
  for (;;) {
    at = skipSpace(json, at)
    if (json[at] === ',') at = skipSpace(json, at + 1)
    if (json[at] !== '"') return found
    const keyEnd = endOfString(json, at + 1) + 1
    const key: unknown = JSON.parse(json.slice(at, keyEnd))
    const start = skipSpace(json, skipSpace(json, keyEnd) + 1)
    at = endOfValue(json, start)
    if (key === member) found = json.slice(start, at)
  }
}

function skipSpace(json: string, from: number): number {
  let at = from
  while (at < json.length && ' \t\r\n'.includes(json.charAt(at))) at++
  return at
}

function endOfValue(json: string, from: number): number {
  let depth = 0
  for (let at = from; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case 0x22:
        at = endOfString(json, at + 1)
        if (depth === 0) return at + 1
        break
      case 0x5b:
      case 0x7b:
        depth++
        break
      case 0x5d:
      case 0x7d:
        if (depth === 0) return at
        if (--depth === 0) return at + 1
        break
      case 0x2c:
      case 0x20:
      case 0x09:
      case 0x0a:
      case 0x0d:
        if (depth === 0) return at
        break
    }
  }
  return json.length
}
