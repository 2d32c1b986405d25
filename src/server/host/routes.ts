import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { invalidMember, orThrow } from '../../lib/host-link/check.ts'
import {
  appPost,
  auditPost,
  checkpoint,
  isCheckpointName,
  messages,
} from '../../lib/host-link/messages.ts'
import { readJson } from '../../lib/host-link/read-json.ts'
import { artefactUri, isArtefactHex } from '../../lib/mcp/artefact-uri.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import type { NodeHandler } from '../http/app.ts'
import { bodyText, readBody } from '../http/body.ts'
import { toProblem } from '../http/problem.ts'
import { notePost, type NoteWriter } from '../notes/note-posts.ts'
import type { Notes } from '../notes/notes.ts'
import { allowOrigin, findAppOrigin } from './app-origins.ts'
import type { HostParts } from './endpoint.ts'
import type { EventBuffers } from './event-buffers.ts'
import {
  authorizeHostRequest,
  checkArtefactMediaType,
  checkJsonMediaType,
  switchedOff,
} from './guards.ts'
import type { ServerLimits } from '../http/limits.ts'
import { changeScene } from './link/failures.ts'
import { postedPresence } from './status.ts'
import type { Uploads } from './uploads.ts'

/** What web pages may use; `/host` tells them whether their token is right. */
const pagePaths = /^\/host(?:\/v1\/(?:scene|app|artefacts|events\/[^/]+))?$/

/**
 * Resolves with the JSON to answer, if it has not answered itself. `rest`: the parts of the address
 * behind the first one below /host/v1/, decoded.
 */
type Answer = (
  req: IncomingMessage,
  res: ServerResponse,
  ...rest: string[]
) => Promise<object | void>

/** The plain form of the host link (docs/host-link.md), by the patterns of its addresses. */
export function createHostRoutes(
  parts: HostParts & { buffers: EventBuffers; uploads: Uploads },
): Record<string, NodeHandler> {
  const { registry, buffers, uploads, audit, checkpoints, limits, token, appOrigins } = parts
  const textOf = (req: IncomingMessage) => {
    checkJsonMediaType(req.headers['content-type'])
    return readText(req, limits)
  }
  const jsonOf = async (req: IncomingMessage) => parseBody(await textOf(req)).value
  /** Numbers keep their digits, for values that are passed on. */
  const exactOf = async (req: IncomingMessage) => parseBody(await textOf(req), parseExact).value
  const notes = () => parts.notes ?? switchedOff('notes are', '--no-notes')
  const noteLive = (isLive: boolean, what: string) => {
    if (!isLive) return
    throw new ServiceError('scene_live', `a connected application ${what}`, {
      hint: 'disconnect the application, or start another server: service-cli serve --port 0',
    })
  }

  const route = (answers: Record<string, Answer>): NodeHandler => {
    return async (req, res, { path, peer }) => {
      const page = findAppOrigin(appOrigins, req)
      if (page !== null && allowOrigin(req, res, page)) return
      const refusal = authorizeHostRequest(req, token, page)
      if (refusal !== null) {
        parts.onRefused({ status: toProblem(refusal).status, reason: refusal.reason, peer })
        throw refusal
      }
      if (page !== null && !pagePaths.test(path)) {
        throw new ServiceError('request_refused', 'a web page may not use this address', {
          hint: 'pages post to /host/v1/scene, app, events/<session_id> and artefacts',
        })
      }
      if (path === '/host') {
        res.setHeader('Upgrade', 'websocket').setHeader('Connection', 'Upgrade')
        const message = '/host is the address of the host link, a WebSocket'
        const hint = 'connect with a WebSocket client, or post to /host/v1/scene'
        throw new ServiceError('upgrade_required', message, { hint })
      }
      const methods = Object.keys(answers)
      if (methods.length === 0) throw notFound()
      const answer = answers[req.method ?? '']
      if (answer === undefined) {
        res.setHeader('Allow', methods.join(', '))
        const message = `the host link takes only ${methods.join(' and ')} at this address`
        throw new ServiceError('method_not_allowed', message)
      }
      const body = await answer(req, res, ...path.split('/').slice(4).map(decoded))
      if (body !== undefined) answerJson(res, 200, body)
    }
  }
  const post = (answer: Answer) => route({ POST: answer })

  return {
    '/host/v1/scene': route({
      async POST(req) {
        const text = await textOf(req)
        noteLive(registry.scene.isLive, 'sends the scene')
        return { ok: true, revision: changeScene(() => registry.scene.setText(text)) }
      },
      async PATCH(req) {
        const { value, warnings } = parseBody(await textOf(req), parseExact)
        const { base = null, ...message } = orThrow(messages['scene.patch'], value)
        const patch = { ...message.patch, warnings }
        noteLive(registry.scene.isLive, 'sends the scene')
        return { ok: true, revision: changeScene(() => registry.scene.patch(patch, base)) }
      },
    }),
    '/host/v1/app': post(async req => {
      const { dcc_type, document } = orThrow(appPost, await jsonOf(req))
      noteLive(registry.scene.application?.connected === true, 'says what is open')
      parts.onPresence(postedPresence(dcc_type, document))
      return { ok: true }
    }),
    '/host/v1/audit': post(async req => {
      const { records } = orThrow(auditPost, await exactOf(req))
      for (const record of records) audit.record(record)
      return { ok: true, count: records.length }
    }),
    '/host/v1/events/:id': post(async (req, _, id) => {
      const body = { ...((await exactOf(req)) as object), session_id: id }
      const { events, session_id } = orThrow(messages['events.append'], body)
      const buffer = buffers.open(session_id)
      for (const event of events) buffer.append(event)
      return { ok: true, next_cursor: buffer.newestCursor, dropped: buffer.droppedCount }
    }),
    '/host/v1/artefacts': post(async (req, res) => {
      checkArtefactMediaType(req.headers['content-type'])
      answerJson(res, 201, await uploads.receive(req))
    }),
    '/host/v1/artefacts/:hex': route({
      async DELETE(_, __, hex = '') {
        const store = parts.artefacts ?? switchedOff('artefacts are', '--no-artefacts')
        if (!isArtefactHex(hex)) {
          throw new ServiceError('body_invalid', 'the address must end in 64 lower-case hex digits')
        }
        const uri = artefactUri(hex)
        if (await store.remove(hex)) return { ok: true, uri }
        throw new ServiceError('resource_not_found', 'no artefact is stored under this hash', {
          data: { uri },
        })
      },
    }),
    '/host/v1/checkpoints': post(async req => {
      const input = orThrow(checkpoint, await jsonOf(req))
      return { ok: true, checkpoint: await checkpoints.add(input) }
    }),
    '/host/v1/checkpoints/:name': route({
      async DELETE(_, __, name = '') {
        if (!isCheckpointName(name)) {
          throw new ServiceError('body_invalid', 'the address must end in the name of a checkpoint')
        }
        await checkpoints.remove(name)
        return { ok: true, name }
      },
    }),
    '/host/v1/notes': route({
      GET: (_, res) => exportNotes(res, notes(), limits),
      POST: async req => writeNote('notes', await jsonOf(req), parts.notes),
    }),
    '/host/v1/notes/import': post(async req => {
      const { note, isNew } = await notes().import(await exactOf(req))
      return { ok: true, note, existed: !isNew }
    }),
    '/host/v1/notes/:id/:action': post(async (req, _, id, action) =>
      writeNote(`notes/${id}/${action}`, await jsonOf(req), parts.notes),
    ),
    '/host/v1/page-login': post(async (_, res) => {
      answerJson(res, 201, parts.pageLogin?.() ?? switchedOff('the page is', '--no-page'))
    }),
    '/host/*': route({}),
  }
}

/** The body of a request. Throws what `readBody` throws, and `body_invalid` for bad UTF-8. */
async function readText(
  req: IncomingMessage,
  { maxMessageBytes: maxBytes, bodyTimeoutMs: timeoutMs }: ServerLimits,
): Promise<string> {
  return bodyText(await readBody(req, { maxBytes, timeoutMs }))
}

/** The same, parsed; also `body_invalid` for bad JSON. */
export async function readJsonBody(req: IncomingMessage, limits: ServerLimits): Promise<unknown> {
  return parseBody(await readText(req, limits)).value
}

function parseBody(body: string, parse: (text: string) => unknown = JSON.parse) {
  try {
    const { text, warnings } = readJson(body)
    return { value: parse(text), warnings }
  } catch (error) {
    throw invalidMember('', `the body ${messageOf(error)}`)
  }
}

/** Makes a note, or takes an action on one: `address` is `notes` or `notes/<id>/<action>`. */
export async function writeNote(
  address: string,
  body: unknown,
  notes: NoteWriter | null,
): Promise<object> {
  const post = notePost(address)
  if (post === null) throw notFound()
  return { ok: true, note: await post(body)(notes ?? switchedOff('notes are', '--no-notes')) }
}

export function answerJson(res: ServerResponse, status: number, payload: object): void {
  const body = Buffer.from(JSON.stringify(payload))
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': body.length,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  res.end(body)
}

/** The notes of the document with their proofs and pictures, as `import` takes each of them. */
async function exportNotes(
  res: ServerResponse,
  notes: Notes,
  { maxMessageBytes }: Pick<ServerLimits, 'maxMessageBytes'>,
): Promise<void> {
  const pieces = notes.exported(maxMessageBytes)
  const first = await pieces.next()
  res.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
  res.write(first.value)
  await pipeline(pieces, res)
}

/** As it is when it cannot be decoded. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function notFound(): ServiceError {
  return new ServiceError('route_not_found', 'the host link has no such address', {
    hint: 'use /host/v1/scene, app, audit, events/<session_id>, artefacts, checkpoints, notes or page-login below /host/v1/',
  })
}
