import { z } from 'zod'
import { numberOf, parseExact } from '../util/exact-json.ts'
import { exceedsDepth, isJsonObject, type JsonObject, maxJsonDepth } from '../util/json.ts'
import { parseRfc3339, toRfc3339 } from '../util/time.ts'
import { must } from './check.ts'
import { patchMembers, patchTexts } from './scene-patch.ts'
import { modes, pictureTargets } from './wire.ts'

/**
 * What an application sends, by the WebSocket or a post (docs/host-link.md). Members without a
 * schema here are ignored, so that an application may be newer than its server.
 */

/** Audit records, or events, in one message. */
export const maxBatch = 100

const sessionIdForm =
  'be 1 to 128 of the characters A-Z a-z 0-9 . _ ~ : @ + -, and neither "." nor ".."'

/** A member that is null counts as absent. */
function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform(value => value ?? undefined)
}

const anything = optional(z.unknown())

function integer(least: number, most = Number.MAX_SAFE_INTEGER) {
  const error = must(`be a whole number from ${least} to ${most}`)
  return z.preprocess(toNumber, z.int(error).min(least, error).max(most, error))
}

/** Numbers of values that are passed on keep their digits. */
function toNumber(value: unknown): unknown {
  return numberOf(value) ?? value
}

/** A text for one line of a log. */
export const name = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^\u0000-\u001f\u007f]*$/, 'must not have control characters')

/**
 * Characters that may stand unescaped in the path of a URI (RFC 3986, `pchar`), so that an id reads
 * the same in `events://session/<id>`, in a path and in a log.
 */
export const sessionId = z
  .string()
  .regex(/^(?!\.\.?$)[A-Za-z0-9._~:@+-]{1,128}$/, must(sessionIdForm))

/** RFC 3339, in any zone; becomes UTC. */
export const time = z.string().transform((text, { addIssue }) => {
  const timeMs = parseRfc3339(text)
  if (timeMs === null) addIssue('must be a time as in RFC 3339')
  return toRfc3339(timeMs ?? 0)
})

/** File names may hold anything. One of no characters says as little as none. */
const documentText = optional(z.string().max(4096)).transform(text => text || undefined)

const document = z
  .object({
    path: documentText,
    name: documentText,
    modified: optional(z.boolean()),
    /** Path, or name without one, that it had before it was saved under this path. */
    saved_from: documentText,
  })
  .nullable()

/** What is open in the application; null: nothing. */
export type OpenDocument = z.output<typeof document>

const dccType = z
  .string()
  .max(64)
  .regex(/^[a-z0-9][a-z0-9_-]*$/, must('be lower-case letters, digits, _ and -'))

const mode = z.enum(modes)

const identity = z.object({
  dcc_type: dccType,
  mode,
  version: optional(name),
  pid: optional(integer(1, 2 ** 32)),
  display_name: optional(name),
})

export type AppIdentity = z.output<typeof identity>

const pictureOffer = z.object({
  /** Unknown targets are newer ones. */
  targets: optional(z.array(z.string()).max(16)).transform(names =>
    pictureTargets.filter(target => names?.includes(target)),
  ),
  /** It draws the scene from where it is told. */
  shots: optional(z.boolean()),
  /** The user shares no pictures: also none taken from outside of the application. */
  denied: optional(z.boolean()).transform(denied => denied === true),
})

/** Which pictures of itself an application takes. */
export type PictureOffer = z.output<typeof pictureOffer>

export const noPictures: PictureOffer = { targets: [], shots: undefined, denied: false }

/** What is known of the application, or of the one that was connected last. */
export interface Presence {
  readonly connected: boolean
  /** Null before the first one. */
  readonly app: (Pick<AppIdentity, 'dcc_type' | 'mode'> & Partial<AppIdentity>) | null
  readonly document: OpenDocument
  /** Its main thread is at work. */
  readonly busy: boolean
  /** What pictures of itself it offers while it is connected. */
  readonly pictures: PictureOffer
  /** It only posts: nothing tells when it goes. */
  readonly posts?: boolean
  /** It has left and taken its scene with it: why, in its words. */
  readonly cleared?: string
}

/** Before any application is there. */
export const noPresence: Presence = {
  connected: false,
  app: null,
  document: null,
  busy: false,
  pictures: noPictures,
}

export const appPost = z.object({ document, dcc_type: optional(dccType) })

/** Characters of a reason or message of an outcome; what is longer is cut. */
const maxReasonChars = 1000

const reason = z.string().transform(text => text.slice(0, maxReasonChars).toWellFormed())

/** What came of an action. */
export const outcome = z.union(
  [
    z.enum(['success', 'timeout']),
    z.object({ denied: z.object({ reason }) }),
    z.object({ error: z.object({ message: reason }) }),
  ],
  'must be "success", "timeout", {"denied":{"reason"}} or {"error":{"message"}}',
)

const auditRecord = z
  .object({
    action: name,
    outcome: optional(outcome),
    actor: optional(name),
    params: anything,
    duration_ms: optional(
      z.preprocess(toNumber, z.number().min(0, must('be a number of milliseconds, 0 or more'))),
    ),
    session_id: optional(name),
    timestamp: optional(time),
  })
  .transform(({ duration_ms: durationMs, session_id, ...record }) => {
    return { ...record, durationMs, sessionId: session_id }
  })

export const auditPost = z.object({ records: z.array(auditRecord).max(maxBatch) })

/** Of an event; `warn` is taken for `warning`. */
export const eventLevel = z.enum(['trace', 'debug', 'info', 'warning', 'warn', 'error'])

const event = z
  .object({
    source: name,
    stream: name,
    level: optional(eventLevel),
    message: z.string(),
    tool_call_id: optional(name),
    job_id: optional(name),
    correlation_id: optional(name),
    metadata: anything,
  })
  .transform(({ tool_call_id, job_id, correlation_id, ...rest }) => {
    return { ...rest, toolCallId: tool_call_id, jobId: job_id, correlationId: correlation_id }
  })

export const eventsPost = z.object({ events: z.array(event).max(maxBatch) })

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const parameter = `;[ \\t]*${token}=(?:${token}|"[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]*")`

/** A media type (RFC 9110, section 8.3.1) of bounded length: safe as a header value. */
export const mediaType = z
  .string()
  .max(255)
  .regex(
    new RegExp(`^${token}/${token}(?:[ \\t]*${parameter})*$`),
    must('be a media type such as image/png'),
  )

/** Of JSON. */
const maxMetadataBytes = 64 * 1024

/** A copy, so that a later change by the caller changes nothing stored. */
const metadata = anything.transform((value, { addIssue }) => {
  const json = JSON.stringify(value ?? null)
  if (Buffer.byteLength(json) <= maxMetadataBytes && !exceedsDepth(json, maxJsonDepth)) {
    return value === undefined ? undefined : parseExact(json)
  }
  addIssue(`must be at most ${maxMetadataBytes} bytes of JSON, ${maxJsonDepth} levels deep`)
  return z.NEVER
})

/** What is said of an artefact beside its bytes and their media type. */
export const sidecar = z.object({
  display_name: optional(name),
  session_id: optional(name),
  tool_call_id: optional(name),
  job_id: optional(name),
  correlation_id: optional(name),
  expires_at: optional(time),
  metadata,
})

const scenePatch = z
  .object({
    /** The revision of the scene that the patch is for; absent: any. */
    base: optional(integer(0)),
    ...patchMembers,
  })
  .transform(({ base, ...patch }, context) => ({ base, patch: patchTexts(patch, context) }))

/** A name has a letter, so that it is never taken for a revision. */
export function isCheckpointName(text: string): boolean {
  return /^(?=.*\p{L})[\p{L}\p{N}._-][\p{L}\p{N} ._-]{0,63}$/u.test(text) && !text.endsWith(' ')
}

export const checkpoint = z.object({
  name: z
    .string()
    .trim()
    .refine(
      isCheckpointName,
      'must have a letter, and at most 64 letters, digits, spaces, ".", "_", "-"',
    )
    .refine(
      text => !/^note-[0-9a-f]{8}$/i.test(text),
      'is a name for the checkpoint of a note: take another one',
    ),
  by: optional(name).transform(by => by ?? 'unknown'),
})

/** The messages of the WebSocket by their type, without `type` and `id`. */
export const messages = {
  hello: z.object({
    app: identity,
    instance_id: name,
    document: document.optional(),
    capture: optional(pictureOffer),
    /** It answers `refresh`, and hears of `demand`. */
    scene_refresh: optional(z.boolean()),
    /** It shows the notes of its document. */
    notes: optional(z.boolean()),
  }),
  heartbeat: z.object({
    main_idle_ms: z.number().min(0, must('be a number of milliseconds, 0 or more')),
    busy: optional(name),
    /** For so long nothing may come: no thread of the application runs. */
    silent_ms: optional(integer(1, 600_000)),
  }),
  'scene.set': z.object({
    scene: z.custom<JsonObject | null>(
      scene => scene === null || isJsonObject(scene),
      must('be a JSON object, or null to clear it'),
    ),
  }),
  'scene.patch': scenePatch,
  'app.update': z.object({
    /** Absent: as before. */
    document: document.optional(),
    mode: optional(mode),
    capture: optional(pictureOffer),
  }),
  'audit.record': auditPost,
  'events.open': z.object({
    session_id: sessionId,
    maxlen: optional(integer(1, 10_000)),
    max_message_bytes: optional(integer(1, 64 * 1024)),
  }),
  'events.append': eventsPost.extend({ session_id: sessionId }),
  // Their lists are checked with the scheme that they are of.
  'producer.register': z.object({ scheme: z.string(), resources: anything, templates: anything }),
  'resource.updated': z.object({ uri: z.string() }),
  'artefact.put': sidecar.extend({ id: name, mime: mediaType, size: integer(0) }),
  'checkpoint.add': checkpoint,
  // Notes have schemas of their own, for the page, too.
  'note.add': z.object({ note: z.unknown() }),
  'note.act': z.object({ note: z.string(), action: z.string(), by: anything, text: anything }),
  bye: z.object({ reason: optional(name), clear: optional(z.boolean()) }),
}

type Messages = typeof messages

/** A message as its schema makes it. */
export type Message<Type extends keyof Messages = keyof Messages> = {
  [Each in Type]: { readonly type: Each } & z.output<Messages[Each]>
}[Type]
