import { jsonFault } from '../../../lib/mcp/json-fault.ts'
import { numberOf, parseExact } from '../../../lib/util/exact-json.ts'
import {
  type JsonObject,
  isJsonObject,
  parseJson,
  wellFormedJson,
  maxJsonDepth,
} from '../../../lib/util/json.ts'
import type { LinkErrorCode } from '../../../lib/host-link/wire.ts'
import type { AppReply } from './app-answer.ts'
import { MemberReader } from '../../../lib/host-link/member-reader.ts'
import { type Incoming, type MessageText, parsers } from './message-parsers.ts'

/** What a text frame of the application is. */
export type IncomingFrame =
  | { readonly kind: 'message'; readonly id: string | undefined; readonly message: Incoming }
  /** The answer to a request of the server; the code that made the request checks its members. */
  | { readonly kind: 'reply'; readonly reply: AppReply }
  /** A message that is not taken; the link goes on. */
  | {
      readonly kind: 'refused'
      readonly id: string | undefined
      readonly type: string
      readonly code: LinkErrorCode
      readonly message: string
      /** Bytes that it said would follow, and that may be on their way. */
      readonly announcedBytes?: number
    }
  /** An unknown type without an id: something newer than this server. */
  | { readonly kind: 'passed' }
  /** No message at all: the link ends. */
  | { readonly kind: 'broken'; readonly reason: string }

/** Messages whose values are passed on: their numbers keep their digits. */
const passedOn: ReadonlySet<string> = new Set([
  'scene.patch',
  'audit.record',
  'events.append',
  'artefact.put',
])
const maxIdChars = 64
const maxShownChars = 64

/** Reads one text frame. Never throws; what is wrong with a member is named by its JSON pointer. */
export function parseFrame(given: string, nowMs: number): IncomingFrame {
  const text = wellFormedJson(given)
  // The envelope is one level around what it carries.
  const parsed = parseJson(text, maxJsonDepth + 1)
  if (!parsed.ok) {
    const isDeep = parsed.failure === 'depth'
    const reason = isDeep
      ? `nests deeper than ${maxJsonDepth} levels`
      : `is not JSON: ${jsonFault(text)}`
    return { kind: 'broken', reason: `a message ${reason}` }
  }
  if (!isJsonObject(parsed.value))
    return { kind: 'broken', reason: 'a message is not a JSON object' }
  const { type } = parsed.value
  if (typeof type !== 'string') return { kind: 'broken', reason: 'a message has no type' }
  const value = passedOn.has(type) ? (parseExact(text) as JsonObject) : parsed.value
  const reader = new MemberReader(value, '', isTolerant(type) ? 'pass' : 'refuse')
  reader.any('type')
  const id = reader.name('id', maxIdChars)
  const wrongId = reader.firstFailure
  if (wrongId !== null) {
    const message = `${wrongId.pointer} ${wrongId.detail}`
    return { kind: 'refused', id: undefined, type, code: 'invalid', message, ...announced(value) }
  }
  if (type === 'ok' || type === 'error') {
    if (id === undefined) return { kind: 'passed' }
    return { kind: 'reply', reply: replyOf(type, id, value) }
  }
  const parse = Object.hasOwn(parsers, type) ? parsers[type] : undefined
  if (parse === undefined) {
    if (id === undefined) return { kind: 'passed' }
    const message = `there is no message "${type.slice(0, maxShownChars)}"`
    return { kind: 'refused', id, type, code: 'unknown_type', message }
  }
  const frame: MessageText = { text, value, id, reader, nowMs }
  const message = parse(frame)
  const failure = reader.failure
  if (failure === null) return { kind: 'message', id, message }
  const detail = `${failure.pointer} ${failure.detail}`.trimStart()
  return { kind: 'refused', id, type, code: 'invalid', message: detail, ...announced(value) }
}

/** A client may send the bytes without waiting for the answer to its message. */
function announced({ type, size }: JsonObject): { readonly announcedBytes?: number } {
  const bytes = numberOf(size) ?? 0
  const announces = type === 'artefact.put' && Number.isSafeInteger(bytes) && bytes > 0
  return announces ? { announcedBytes: bytes } : {}
}

/** An error of the application without code or text is an error all the same. */
function replyOf(type: 'ok' | 'error', id: string, value: JsonObject): AppReply {
  if (type === 'ok') return { ...value, type, id }
  const { code, message } = value
  return {
    type,
    id,
    code: typeof code === 'string' ? code : 'internal',
    message: typeof message === 'string' ? message : '',
  }
}

/** What a newer application may add to without being turned away. */
function isTolerant(type: string): boolean {
  return type === 'hello' || type === 'heartbeat'
}
