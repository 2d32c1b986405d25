import { escapePointer, isJsonObject, type JsonObject, parseJson } from '../util/json.ts'
import { type Result, fail, ok } from '../util/result.ts'
import { type LinkErrorCode, linkErrorCodes, pictureTargets, type ServerMessage } from './wire.ts'

/** An answer of the server; further members of an `ok` depend on the request. */
export type ServerReply =
  | { readonly type: 'ok'; readonly id: string; readonly body: JsonObject }
  | {
      readonly type: 'error'
      readonly id: string | undefined
      readonly code: LinkErrorCode
      readonly message: string
      readonly retryable: boolean
    }

export type FromServer = ServerMessage | ServerReply

/** Why a message is rejected. */
type ServerMessageProblem =
  /** Not a message: the link ends with 4400. */
  | { readonly kind: 'broken'; readonly message: string }
  /** A known type with an invalid member: ignored and answered with an error. */
  | {
      readonly kind: 'invalid'
      readonly type: string
      readonly id: string | undefined
      readonly message: string
    }
  /** A type unknown to this client. */
  | { readonly kind: 'unknown'; readonly type: string; readonly id: string | undefined }

type Check = (value: unknown) => string | null
interface Shape {
  readonly required: Readonly<Record<string, Check>>
  readonly optional?: Readonly<Record<string, Check>>
  /** Allows further members. */
  readonly open?: boolean
}

const maxDepth = 64
const maxTextChars = 4096
/** The longest accepted time: one day. */
const maxMs = 86_400_000

const text: Check = value =>
  typeof value === 'string' && value.length <= maxTextChars
    ? null
    : `must be a string of up to ${maxTextChars} characters`
const idText: Check = value =>
  typeof value === 'string' && value.length >= 1 && value.length <= 64
    ? null
    : 'must be a string of 1 to 64 characters'
const flag: Check = value => (typeof value === 'boolean' ? null : 'must be true or false')
const whole =
  (least: number, most = Number.MAX_SAFE_INTEGER): Check =>
  value =>
    Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most
      ? null
      : `must be a whole number from ${least} to ${most}`
const target: Check = value =>
  pictureTargets.some(each => each === value) ? null : `must be ${pictureTargets.join(' or ')}`
const shot: Check = value => {
  const ways = ['camera', 'of', 'view']
  const isKnown = isJsonObject(value) && ways.some(way => value[way] !== undefined)
  return isKnown ? null : `must be an object with ${ways.join(', or ')}`
}
const objects: Check = value =>
  Array.isArray(value) && value.every(isJsonObject) ? null : 'must be an array of objects'
const wholeOrNull: Check = value => (value === null ? null : whole(0)(value))

/** A `heartbeat_ms` below 100 would flood the link. */
const welcome: Shape = {
  required: {
    protocol: whole(1),
    session: text,
    server: shaped({ required: { name: text, version: text }, open: true }),
    limits: shaped({
      required: {
        max_message_bytes: whole(1024),
        max_batch: whole(1),
        max_in_flight: whole(1),
        max_artefact_bytes: wholeOrNull,
        max_scene_objects: whole(0),
        scene_min_interval_ms: whole(0, maxMs),
      },
      optional: { max_scene_bytes: whole(0), max_patched_objects: whole(0) },
      open: true,
    }),
    heartbeat_ms: whole(100, maxMs),
    need_scene: flag,
  },
  open: true,
}

const shapes: Readonly<Record<string, Shape>> = {
  welcome,
  read: { required: { id: idText, uri: text, deadline_ms: whole(0, maxMs) } },
  list: { required: { id: idText, scheme: text, deadline_ms: whole(0, maxMs) } },
  capture: {
    required: {
      id: idText,
      target,
      max_width: whole(1),
      max_bytes: whole(1),
      deadline_ms: whole(0, maxMs),
    },
    optional: { shot },
  },
  captured: { required: { target } },
  notes: { required: { notes: objects, pictures: text } },
  cancel: { required: { id: idText } },
  throttle: { required: { scene_min_interval_ms: whole(0, maxMs) } },
  shutdown: { required: { reason: text }, optional: { reconnect_after_ms: whole(0, maxMs) } },
  ok: { required: { id: idText }, open: true },
  error: {
    required: { code: text, message: text, retryable: flag },
    optional: { id: idText },
    open: true,
  },
}

/** Parses a text frame of the server. Never throws. */
export function parseServerMessage(frame: string): Result<FromServer, ServerMessageProblem> {
  const broken = (message: string) => fail({ kind: 'broken', message } as const)
  const parsed = parseJson(frame, maxDepth)
  if (!parsed.ok) {
    return broken(parsed.failure === 'depth' ? `deeper than ${maxDepth} levels` : 'not JSON')
  }
  const { value } = parsed
  if (!isJsonObject(value)) return broken('not a JSON object')
  const { type } = value
  if (typeof type !== 'string') return broken('missing type')
  const id = idText(value.id) === null ? String(value.id) : undefined
  const shape = Object.hasOwn(shapes, type) ? shapes[type] : undefined
  if (shape === undefined) return fail({ kind: 'unknown', type, id })
  // Any message may carry an id.
  const optional = { id: idText, ...shape.optional }
  const wrong = findWrong(value, { ...shape, optional }, ['type'])
  if (wrong !== null) return fail({ kind: 'invalid', type, id, message: wrong })
  return ok(typed(type, value, id))
}

function typed(type: string, value: JsonObject, id: string | undefined): FromServer {
  if (type === 'ok') return { type, id: id ?? '', body: value }
  if (type === 'error') {
    const { code, message, retryable } = value
    // A newer server may send other codes.
    const known = linkErrorCodes.find(each => each === code) ?? 'internal'
    return { type, id, code: known, message: String(message), retryable: retryable === true }
  }
  // `findWrong` has checked each member.
  return withoutNull(value) as unknown as ServerMessage
}

/** Top-level members that are `null` count as absent; nested ones are kept. */
function withoutNull(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
}

function findWrong(value: JsonObject, shape: Shape, known: string[] = []): string | null {
  const { required, optional = {}, open = false } = shape
  for (const [name, check] of Object.entries(required)) {
    const problem = Object.hasOwn(value, name) ? check(value[name]) : 'is missing'
    if (problem !== null) return `/${name}${problem.startsWith('/') ? '' : ' '}${problem}`
  }
  for (const [name, check] of Object.entries(optional)) {
    const member = Object.hasOwn(value, name) ? value[name] : null
    const problem = member === null ? null : check(member)
    if (problem !== null) return `/${name} ${problem}`
  }
  if (open) return null
  const names = [...known, ...Object.keys(required), ...Object.keys(optional)]
  const extra = Object.keys(value).find(name => value[name] !== null && !names.includes(name))
  return extra === undefined ? null : `/${escapePointer(extra.slice(0, 100))} is not a member`
}

function shaped(shape: Shape): Check {
  return value => (isJsonObject(value) ? findWrong(value, shape) : 'must be an object')
}
