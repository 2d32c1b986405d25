import { maxUriChars } from '../../resources/resource-uri.ts'
import { omitUndefined } from '../../../lib/util/members.ts'
import { isArtefactHex } from '../../../lib/mcp/uris.ts'
import type { Mode } from '../../../lib/host-link/wire.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import type { ArtefactOptions } from '../../artefacts/store.ts'
import type { AuditRecord } from '../../resources/audit-log.ts'
import type { ScenePatch } from '../../../lib/host-link/scene-objects.ts'
import { readScenePatch } from '../../../lib/host-link/scene-patch.ts'
import type { SessionEventInput } from '../../resources/session-event-buffer.ts'
import { checkArtefactMediaType } from '../guards.ts'
import { memberText } from './member-text.ts'
import { MemberReader } from '../../../lib/host-link/member-reader.ts'
import { type DocumentFacts, readDocument } from '../app-facts.ts'
import {
  parseAuditPost,
  parseEventsPost,
  maxFieldChars,
  isSessionId,
  sessionIdForm,
} from '../messages.ts'
import { readSidecar } from '../upload-options.ts'
import { type HelloFacts, modes, parseHello, requiredName } from './parse-hello.ts'
import type { Note } from '../../notes/note.ts'
import { type CheckpointInput, checkpointInput } from '../../checkpoints/checkpoints.ts'
import { type NoteWriter, notePost } from '../../notes/note-posts.ts'
import { type PictureOfferFacts, readPictureOffer } from './pictures.ts'

/** Events that a buffer opened over the link may retain. */
export const maxEventBufferEvents = 10_000

/** Bytes of one message in a buffer opened over the link. */
export const maxEventMessageBytes = 64 * 1024

interface HeartbeatFacts {
  readonly type: 'heartbeat'
  readonly mainIdleMs: number
  readonly busy: string | undefined
}

/** Lists of resources are passed on unchecked: `LinkedScheme` checks them. */
export type Incoming =
  | HelloFacts
  | HeartbeatFacts
  | { readonly type: 'scene.set'; readonly text: string }
  | { readonly type: 'scene.patch'; readonly patch: ScenePatch; readonly base: number }
  | {
      readonly type: 'app.update'
      /** Undefined: as before. */
      readonly document: DocumentFacts | null | undefined
      readonly mode: Mode | undefined
      readonly capture: PictureOfferFacts | undefined
    }
  | { readonly type: 'audit.record'; readonly records: readonly AuditRecord[] }
  | {
      readonly type: 'events.open'
      readonly sessionId: string
      readonly maxlen: number | undefined
      readonly maxMessageBytes: number | undefined
    }
  | {
      readonly type: 'events.append'
      readonly sessionId: string
      readonly events: readonly SessionEventInput[]
    }
  | { readonly type: 'events.close'; readonly sessionId: string }
  | {
      readonly type: 'producer.register'
      readonly scheme: string
      readonly resources: unknown
      readonly templates: unknown
    }
  | { readonly type: 'producer.unregister'; readonly scheme: string }
  | { readonly type: 'producer.list_changed'; readonly scheme: string; readonly resources: unknown }
  | { readonly type: 'resource.updated'; readonly uri: string }
  | {
      readonly type: 'artefact.put'
      readonly id: string
      readonly sizeBytes: number
      readonly sha256: string | undefined
      readonly options: ArtefactOptions
    }
  | { readonly type: 'artefact.abort'; readonly upload: string }
  | { readonly type: 'checkpoint'; readonly input: CheckpointInput }
  | { readonly type: 'note'; readonly write: (notes: NoteWriter) => Promise<Note> }
  | { readonly type: 'bye'; readonly reason: string | undefined; readonly clear: boolean }

/** A message whose envelope is read: its members are for its own parser. */
export interface MessageText {
  readonly text: string
  readonly value: JsonObject
  readonly id: string | undefined
  readonly reader: MemberReader
  readonly nowMs: number
}

/** By type. What one finds wrong it leaves with the reader; then its result counts for nothing. */
export const parsers: Readonly<Record<string, (frame: MessageText) => Incoming>> = {
  hello: parseHello,
  heartbeat: ({ reader }) => {
    const most = Number.MAX_SAFE_INTEGER
    const mainIdleMs = reader.required('main_idle_ms', reader.durationMs('main_idle_ms'), 0)
    reader.integer('queue_depth', 0, most)
    return { type: 'heartbeat', mainIdleMs, busy: reader.name('busy', maxFieldChars) }
  },
  'scene.set': ({ text, reader }) => {
    // `null` is a value here, and the text is kept as the application wrote it.
    reader.any('scene')
    const scene = memberText(text, 'scene')
    if (scene === undefined) reader.refuse('scene', 'is required')
    return { type: 'scene.set', text: scene ?? 'null' }
  },
  'scene.patch': ({ reader }) => {
    const base = reader.required('base', reader.integer('base', 0, Number.MAX_SAFE_INTEGER), 0)
    return { type: 'scene.patch', patch: readScenePatch(reader), base }
  },
  'app.update': ({ value, reader }) => {
    const document = readDocument(reader, 'refuse')
    const given = Object.hasOwn(value, 'document')
    return {
      type: 'app.update',
      document: given ? document : undefined,
      mode: reader.word('mode', modes),
      capture: readPictureOffer(reader, 'refuse'),
    }
  },
  'audit.record': ({ reader }) => {
    const records = parseAuditPost({ records: reader.any('records') })
    if (!records.ok) reader.inherit(records.failure)
    return { type: 'audit.record', records: records.ok ? records.value : [] }
  },
  'events.open': ({ reader }) => ({
    type: 'events.open',
    sessionId: readSessionId(reader),
    maxlen: reader.integer('maxlen', 1, maxEventBufferEvents),
    maxMessageBytes: reader.integer('max_message_bytes', 1, maxEventMessageBytes),
  }),
  'events.append': ({ reader }) => {
    const sessionId = readSessionId(reader)
    const events = parseEventsPost({ events: reader.any('events') }, sessionId)
    if (!events.ok) reader.inherit(events.failure)
    return { type: 'events.append', sessionId, events: events.ok ? events.value : [] }
  },
  'events.close': ({ reader }) => ({ type: 'events.close', sessionId: readSessionId(reader) }),
  'producer.register': ({ reader }) => ({
    type: 'producer.register',
    scheme: requiredName(reader, 'scheme', maxFieldChars),
    resources: reader.any('resources'),
    templates: reader.any('templates'),
  }),
  'producer.unregister': ({ reader }) => ({
    type: 'producer.unregister',
    scheme: requiredName(reader, 'scheme', maxFieldChars),
  }),
  'producer.list_changed': ({ reader }) => ({
    type: 'producer.list_changed',
    scheme: requiredName(reader, 'scheme', maxFieldChars),
    resources: reader.any('resources'),
  }),
  'resource.updated': ({ reader }) => ({
    type: 'resource.updated',
    uri: requiredName(reader, 'uri', maxUriChars),
  }),
  'checkpoint.add': ({ reader }) => {
    const parsed = checkpointInput(
      omitUndefined({ name: reader.any('name'), by: reader.any('by') }),
    )
    if (parsed.ok) return { type: 'checkpoint', input: parsed.value }
    reader.inherit(parsed.failure)
    return { type: 'checkpoint', input: { name: '', by: '' } }
  },
  'note.add': ({ reader }) => noteWrite(reader, 'notes', reader.any('note')),
  'note.act': ({ reader }) => {
    const note = requiredName(reader, 'note', 32)
    const action = requiredName(reader, 'action', 16)
    const body = omitUndefined({ by: reader.any('by'), text: reader.any('text') })
    return noteWrite(reader, `notes/${note}/${action}`, body)
  },
  'artefact.put': artefactPut,
  'artefact.abort': ({ reader }) => ({
    type: 'artefact.abort',
    upload: requiredName(reader, 'upload', 64),
  }),
  bye: ({ reader }) => ({
    type: 'bye',
    reason: reader.name('reason', maxFieldChars),
    clear: reader.flag('clear') ?? false,
  }),
}

/** As the post to this address below `/host/v1/` does. */
function noteWrite(reader: MemberReader, rest: string, body: unknown): Incoming {
  const parsed = notePost(rest)?.(body)
  if (parsed?.ok) return { type: 'note', write: parsed.value }
  const { pointer, detail } = parsed?.failure ?? { pointer: '', detail: 'must name a note' }
  reader.inherit({ pointer: rest === 'notes' ? `/note${pointer}` : pointer || '/note', detail })
  return { type: 'note', write: () => Promise.reject(new Error(detail)) }
}

function artefactPut({ id, reader, nowMs }: MessageText): Incoming {
  if (id === undefined) reader.refuse('id', 'is required')
  const mime = reader.required('mime', reader.text('mime'), '')
  const wrongType = checkArtefactMediaType(mime)
  if (wrongType !== null) reader.refuse('mime', 'must be a media type such as image/png')
  const size = reader.integer('size', 0, Number.MAX_SAFE_INTEGER)
  const sha256 = reader.text('sha256')
  if (sha256 !== undefined && !isArtefactHex(sha256)) {
    reader.refuse('sha256', 'must be 64 lower-case hex digits')
  }
  return {
    type: 'artefact.put',
    id: id ?? '',
    sizeBytes: reader.required('size', size, 0),
    sha256,
    options: readSidecar(reader, mime, reader.any('metadata'), nowMs),
  }
}

function readSessionId(reader: MemberReader): string {
  const id = reader.required('session_id', reader.text('session_id'), '')
  if (!isSessionId(id)) reader.refuse('session_id', `must be ${sessionIdForm}`)
  return id
}
