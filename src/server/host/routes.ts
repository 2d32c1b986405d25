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
import { artefactUri, isArtefactHex } from '../../lib/mcp/uris.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import type { NodeHandler } from '../http/app.ts'
import { bodyText, readBody } from '../http/body.ts'
import { toProblem, writeProblem } from '../http/problem.ts'
import { notePost, type NoteWriter } from '../notes/note-posts.ts'
import type { Notes } from '../notes/notes.ts'
import { allowOrigin, checkPagePath, findAppOrigin } from './app-origins.ts'
import type { HostParts } from './endpoint.ts'
import type { EventBuffers } from './event-buffers.ts'
import {
  authorizeHostRequest,
  checkArtefactMediaType,
  checkJsonMediaType,
  notUpgraded,
  type Refusal,
  switchedOff,
  wrongMethod,
} from './guards.ts'
import type { HostLimits } from './limits.ts'
import { changeScene } from './link/failures.ts'
import { postedPresence } from './status.ts'
import type { Uploads } from './uploads.ts'

interface HostRoutesParts extends HostParts {
  readonly buffers: EventBuffers
  readonly uploads: Uploads
}

/** A request below /host/v1/. `rest`: the parts of its address behind the first one, decoded. */
interface Exchange {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly rest: readonly string[]
}

/** Resolves with the JSON to answer, if it has not answered itself. */
type Answer = (exchange: Exchange) => Promise<object | void>

interface Route {
  readonly [method: string]: Answer
}

/**
 * The plain form of the host link (docs/host-link.md): requests below `/host/`. The returned
 * function answers every request itself and never rejects.
 */
export function createHostRoutes(parts: HostRoutesParts): NodeHandler {
  const { registry, buffers, uploads, audit, checkpoints, limits, token, appOrigins } = parts
  const jsonOf = (req: IncomingMessage) => readJsonBody(req, limits)
  /** Numbers keep their digits, for values that are passed on. */
  const exactOf = (req: IncomingMessage) => readJsonBody(req, limits, parseExact)
  const notes = () => parts.notes ?? switchedOff('notes are', '--no-notes')
  const noteLive = (isLive: boolean, what: string) => {
    if (!isLive) return
    throw new ServiceError('scene_live', `a connected application ${what}`, {
      hint: 'disconnect the application, or start another server: service-cli serve --port 0',
    })
  }

  const routes: Record<string, Route> = {
    scene: {
      async POST({ req }) {
        const text = await readText(req, limits)
        noteLive(registry.scene.isLive, 'sends the scene')
        return { ok: true, revision: changeScene(() => registry.scene.setText(text)) }
      },
      async PATCH({ req }) {
        const { base = null, patch } = orThrow(messages['scene.patch'], await exactOf(req))
        noteLive(registry.scene.isLive, 'sends the scene')
        return { ok: true, revision: changeScene(() => registry.scene.patch(patch, base)) }
      },
    },
    app: {
      async POST({ req }) {
        const { dcc_type, document } = orThrow(appPost, await jsonOf(req))
        noteLive(registry.scene.application?.connected === true, 'says what is open')
        parts.onPresence(postedPresence(dcc_type, document))
        return { ok: true }
      },
    },
    audit: {
      async POST({ req }) {
        const { records } = orThrow(auditPost, await exactOf(req))
        for (const record of records) audit.record(record)
        return { ok: true, count: records.length }
      },
    },
    'events/*': {
      async POST({ req, rest: [id] }) {
        const body = { ...((await exactOf(req)) as object), session_id: id }
        const { events, session_id } = orThrow(messages['events.append'], body)
        const buffer = buffers.open(session_id)
        for (const event of events) buffer.append(event)
        return { ok: true, next_cursor: buffer.newestCursor, dropped: buffer.droppedCount }
      },
    },
    artefacts: {
      async POST({ req, res }) {
        answerJson(res, 201, await uploads.receive(req))
      },
    },
    'artefacts/*': {
      async DELETE({ rest: [hex = ''] }) {
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
    },
    checkpoints: {
      async POST({ req }) {
        const input = orThrow(checkpoint, await jsonOf(req))
        return { ok: true, checkpoint: await checkpoints.add(input) }
      },
    },
    'checkpoints/*': {
      async DELETE({ rest: [name = ''] }) {
        if (!isCheckpointName(name)) {
          throw new ServiceError('body_invalid', 'the address must end in the name of a checkpoint')
        }
        await checkpoints.remove(name)
        return { ok: true, name }
      },
    },
    notes: {
      GET: ({ res }) => exportNotes(res, notes(), limits),
      POST: ({ req }) => receiveNote(req, 'notes', parts),
    },
    'notes/import': {
      async POST({ req }) {
        const { note, isNew } = await notes().import(await exactOf(req))
        return { ok: true, note, existed: !isNew }
      },
    },
    'notes/*/*': { POST: ({ req, rest }) => receiveNote(req, ['notes', ...rest].join('/'), parts) },
    'page-login': {
      async POST({ res }) {
        answerJson(res, 201, parts.pageLogin?.() ?? switchedOff('the page is', '--no-page'))
      },
    },
  }

  return async (req, res, { path, peer }) => {
    try {
      const page = findAppOrigin(appOrigins, req)
      if (page !== null && allowOrigin(req, res, page)) return
      const stranger = authorizeHostRequest(req, token, page)
      if (stranger !== null) {
        const { status } = toProblem(stranger.error)
        parts.onRefused({ status, reason: stranger.reason, peer })
        return refuse(res, stranger)
      }
      const wrongPath = page === null ? null : checkPagePath(path)
      if (wrongPath !== null) throw wrongPath
      if (path === '/host') return refuse(res, notUpgraded())
      const { route, rest } = findRoute(routes, path)
      const method = req.method ?? ''
      if (!Object.hasOwn(route, method)) return refuse(res, wrongMethod(Object.keys(route)))
      const wrongType = checkMediaType(path, method, req.headers['content-type'])
      if (wrongType !== null) return refuse(res, wrongType)
      const answer = await route[method]?.({ req, res, rest })
      if (answer !== undefined) answerJson(res, 200, answer)
    } catch (error) {
      const problem = toProblem(error)
      if (problem.status >= 500) parts.log.error({ err: error, path }, 'host post failed')
      writeProblem(res, problem)
    }
  }
}

/** The body of a JSON route. Throws what `readBody` throws, and `body_invalid` for bad UTF-8. */
async function readText(
  req: IncomingMessage,
  { maxMessageBytes: maxBytes, bodyTimeoutMs: timeoutMs }: HostLimits,
): Promise<string> {
  return bodyText(await readBody(req, { maxBytes, timeoutMs }))
}

/** The same, parsed; also `body_invalid` for bad JSON. */
export async function readJsonBody(
  req: IncomingMessage,
  limits: HostLimits,
  parse: (text: string) => unknown = JSON.parse,
): Promise<unknown> {
  const body = await readText(req, limits)
  try {
    return parse(readJson(body).text)
  } catch (error) {
    throw invalidMember('', `the body ${messageOf(error)}`)
  }
}

/** Makes a note, or takes an action on one: `address` is `notes` or `notes/<id>/<action>`. */
export async function receiveNote(
  req: IncomingMessage,
  address: string,
  { notes, limits }: { notes: NoteWriter | null; limits: HostLimits },
  fill: (body: unknown) => unknown = body => body,
): Promise<object> {
  const post = notePost(address)
  if (post === null) throw notFound()
  const write = post(fill(await readJsonBody(req, limits)))
  return { ok: true, note: await write(notes ?? switchedOff('notes are', '--no-notes')) }
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
  { maxMessageBytes }: Pick<HostLimits, 'maxMessageBytes'>,
): Promise<void> {
  const pieces = notes.exported(maxMessageBytes)
  const first = await pieces.next()
  res.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
  res.write(first.value)
  await pipeline(pieces, res)
}

/** The route of an address: whole, or with `*` for each part behind the first one. */
function findRoute(routes: Record<string, Route>, path: string) {
  const [, , , first = '', ...rest] = path.split('/').map(decoded)
  const names = [
    [first, ...rest],
    [first, ...rest.map(() => '*')],
  ].map(parts => parts.join('/'))
  const name = names.find(each => Object.hasOwn(routes, each))
  const route = name === undefined ? undefined : routes[name]
  if (route === undefined || !path.startsWith('/host/v1/') || rest.includes('')) throw notFound()
  return { route, rest }
}

/** As it is when it cannot be decoded. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function checkMediaType(path: string, method: string, type: string | undefined): Refusal | null {
  if (path === '/host/v1/artefacts') return checkArtefactMediaType(type)
  const hasBody = (method === 'POST' || method === 'PATCH') && path !== '/host/v1/page-login'
  return hasBody ? checkJsonMediaType(type) : null
}

function refuse(res: ServerResponse, refusal: Refusal): void {
  writeProblem(res, toProblem(refusal.error), refusal.headers)
}

function notFound(): ServiceError {
  return new ServiceError('route_not_found', 'the host link has no such address', {
    hint: 'use /host/v1/scene, app, audit, events/<session_id>, artefacts, checkpoints, notes or page-login below /host/v1/',
  })
}
