import type { HostLimits } from './limits.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { Secret } from '../../lib/util/secret.ts'
import type { NodeHandler } from '../http/app.ts'
import { toProblem, writeProblem } from '../http/problem.ts'
import { allowOrigin, type AppOrigin, checkPagePath, findAppOrigin } from './app-origins.ts'
import type { EventBuffers } from './event-buffers.ts'
import {
  checkArtefactMediaType,
  checkJsonMediaType,
  checkMethod,
  checkStranger,
  notUpgraded,
  type Refusal,
} from './guards.ts'
import type { HostSink } from './host-endpoint.ts'
import { parseAppPost } from './app-facts.ts'
import { type Presence, postedPresence } from './link/presence.ts'
import { accepted, answerJson, invalidMember, jsonOf, readJson, readText } from './json-post.ts'
import { parseAuditPost, parseEventsPost, parseSessionId } from './messages.ts'
import { artefactUri, isArtefactHex } from '../../lib/mcp/uris.ts'
import { checkpointInput, isCheckpointName } from '../checkpoints/checkpoints.ts'
import { notePost } from '../notes/note-posts.ts'
import { artefactsOff, notesOff, receiveNote, UploadIntake } from './receive.ts'
import { MemberReader } from '../../lib/host-link/member-reader.ts'
import { readScenePatch } from '../../lib/host-link/scene-patch.ts'

interface HostRoutesDeps {
  readonly sink: HostSink
  readonly buffers: EventBuffers
  readonly token: Secret
  readonly appOrigins: readonly AppOrigin[]
  readonly limits: HostLimits
  readonly log: Logger
  onPresence(presence: Presence): void
  /** A fresh link that logs a browser in to the page; absent or null: there is no page. */
  readonly pageLogin?: () => object | null
  /** Told of every 401 and 403, for the audit log. */
  onRefused(refused: HostRefused): void
}

export interface HostRefused {
  readonly status: number
  /** `peer_not_loopback`, `forwarded`, `origin_present`, `token_missing` or `token_wrong`. */
  readonly reason: string
  readonly peer: string
}

interface Route {
  checkMediaType(contentType: string | undefined): Refusal | null
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>
}

const eventsPrefix = '/host/v1/events/'
const artefactsPrefix = '/host/v1/artefacts/'
const checkpointsPrefix = '/host/v1/checkpoints/'
const notesPath = '/host/v1/notes'

/**
 * The plain form of the host link (docs/host-link.md): requests below `/host/`. The returned
 * function answers every request itself and never rejects.
 */
export function createHostRoutes(deps: HostRoutesDeps): NodeHandler {
  const { sink, buffers, limits } = deps

  const sceneRoute = jsonRoute(async (req, res) => {
    const text = await readText(req, limits)
    if (sink.scene.isLive) throw sceneIsLive()
    const take = req.method === 'PATCH' ? patchScene : setScene
    answerJson(res, 200, { ok: true, revision: take(sink, text) })
  })
  const appRoute = jsonRoute(async (req, res) => {
    const app = accepted(parseAppPost(await readJson(req, limits)))
    if (sink.scene.application?.connected === true) throw appIsConnected()
    deps.onPresence(postedPresence(app))
    answerJson(res, 200, { ok: true })
  })
  const auditRoute = jsonRoute(async (req, res) => {
    const body = jsonOf(await readText(req, limits))
    const records = accepted(parseAuditPost(body))
    for (const record of records) sink.audit.record(record)
    answerJson(res, 200, { ok: true, count: records.length })
  })
  const uploads = new UploadIntake(limits)
  const artefactsRoute: Route = {
    checkMediaType: checkArtefactMediaType,
    handle: (req, res) => uploads.receive(req, res, sink.artefacts),
  }
  const pageLoginRoute: Route = {
    checkMediaType: () => null,
    async handle(_req, res) {
      const link = deps.pageLogin?.() ?? null
      if (link === null) throw pageOff()
      answerJson(res, 201, link)
    },
  }
  const checkpointsRoute = jsonRoute(async (req, res) => {
    const input = accepted(checkpointInput(await readJson(req, limits)))
    answerJson(res, 200, { ok: true, checkpoint: await sink.checkpoints.add(input) })
  })
  const importRoute = jsonRoute(async (req, res) => {
    if (sink.notes === null) throw notesOff()
    const body = jsonOf(await readText(req, limits))
    const { note, isNew } = await sink.notes.import(body)
    answerJson(res, 200, { ok: true, note, existed: !isNew })
  })
  const routes = new Map<string, Route>([
    ['/host/v1/checkpoints', checkpointsRoute],
    ['/host/v1/scene', sceneRoute],
    [`${notesPath}/import`, importRoute],
    ['/host/v1/app', appRoute],
    ['/host/v1/audit', auditRoute],
    ['/host/v1/artefacts', artefactsRoute],
    ['/host/v1/page-login', pageLoginRoute],
  ])

  const eventsRoute = (segment: string) =>
    jsonRoute(async (req, res) => {
      const id = parseSessionId(segment)
      if (!id.ok) throw new ServiceError('body_invalid', `the session id ${id.failure}`)
      const body = jsonOf(await readText(req, limits))
      const events = accepted(parseEventsPost(body, id.value))
      const buffer = buffers.open(id.value)
      for (const event of events) buffer.append(event)
      const { newestCursor, droppedCount } = buffer
      answerJson(res, 200, { ok: true, next_cursor: newestCursor, dropped: droppedCount })
    })

  const find = (path: string): Route => {
    const route = routes.get(path)
    if (route !== undefined) return route
    const post = notePost(path.slice('/host/v1/'.length))
    if (post !== null)
      return jsonRoute((req, res) => receiveNote(req, res, post, { notes: sink.notes, limits }))
    const segment = path.startsWith(eventsPrefix) ? path.slice(eventsPrefix.length) : ''
    if (segment !== '' && !segment.includes('/')) return eventsRoute(segment)
    throw new ServiceError('route_not_found', 'the host link has no such address', {
      hint: 'use /host/v1/scene, app, audit, events/<session_id>, artefacts, checkpoints, notes or page-login below /host/v1/',
    })
  }

  return async (req, res, { path, peer }) => {
    try {
      const page = findAppOrigin(deps.appOrigins, req)
      if (page !== null && allowOrigin(req, res, page)) return
      const stranger = checkStranger(req, deps.token, page)
      if (stranger !== null) {
        const { status } = toProblem(stranger.error)
        deps.onRefused({ status, reason: stranger.reason, peer })
        return refuse(res, stranger)
      }
      const wrongPath = page === null ? null : checkPagePath(path)
      if (wrongPath !== null) throw wrongPath
      if (path === '/host') return refuse(res, notUpgraded())
      const wrongMethod = checkMethod(req.method, methodsOf(path))
      if (wrongMethod !== null) return refuse(res, wrongMethod)
      if (req.method === 'DELETE') return await remove(res, path, sink)
      if (req.method === 'GET') return await exportNotes(res, sink, limits)
      const route = find(path)
      const wrongType = route.checkMediaType(req.headers['content-type'])
      if (wrongType !== null) return refuse(res, wrongType)
      await route.handle(req, res)
    } catch (error) {
      const problem = toProblem(error)
      if (problem.status >= 500) deps.log.error({ err: error, path }, 'host post failed')
      writeProblem(res, problem)
    }
  }
}

function jsonRoute(handle: Route['handle']): Route {
  return { checkMediaType: checkJsonMediaType, handle }
}

function refuse(res: ServerResponse, refusal: Refusal): void {
  writeProblem(res, toProblem(refusal.error), refusal.headers)
}

function sceneIsLive(): ServiceError {
  return new ServiceError('scene_live', 'a connected application sends the scene', {
    hint: 'disconnect the application, or start another server: service-cli serve --port 0',
  })
}

function appIsConnected(): ServiceError {
  return new ServiceError('scene_live', 'a connected application says what is open', {
    hint: 'disconnect the application, or start another server: service-cli serve --port 0',
  })
}

function pageOff(): ServiceError {
  return new ServiceError('resource_not_enabled', 'the page is switched off', {
    hint: 'start the server without --no-page',
  })
}

function methodsOf(path: string) {
  if (path.startsWith(artefactsPrefix) || path.startsWith(checkpointsPrefix)) return 'DELETE'
  if (path === notesPath) return 'GET, POST'
  return path === '/host/v1/scene' ? 'POST, PATCH' : 'POST'
}

/** The notes of the document with their proofs and pictures, as `import` takes each of them. */
async function exportNotes(
  res: ServerResponse,
  { notes }: HostSink,
  { maxMessageBytes }: Pick<HostLimits, 'maxMessageBytes'>,
): Promise<void> {
  if (notes === null) throw notesOff()
  const pieces = notes.exported(maxMessageBytes)
  const first = await pieces.next()
  res.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
  res.write(first.value)
  await pipeline(pieces, res)
}

function patchScene(sink: HostSink, json: string): number {
  const reader = new MemberReader(jsonOf(json), '')
  const base = reader.integer('base', 0, Number.MAX_SAFE_INTEGER) ?? null
  const patch = accepted(reader.finish(readScenePatch(reader)))
  return taken(() => sink.scene.patch(patch, base))
}

function setScene(sink: HostSink, json: string): number {
  return taken(() => sink.setSceneText(json))
}

/** What the resource registry finds wrong with a scene is the application's to know. */
function taken(take: () => number): number {
  try {
    return take()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw invalidMember({ pointer: '', detail: error.message })
  }
}

function remove(res: ServerResponse, path: string, sink: HostSink): Promise<void> {
  if (path.startsWith(artefactsPrefix)) {
    return removeArtefact(res, path.slice(artefactsPrefix.length), sink.artefacts)
  }
  return removeCheckpoint(res, path.slice(checkpointsPrefix.length), sink.checkpoints)
}

async function removeCheckpoint(
  res: ServerResponse,
  segment: string,
  checkpoints: HostSink['checkpoints'],
): Promise<void> {
  const name = decodedName(segment)
  if (!isCheckpointName(name)) {
    throw new ServiceError('body_invalid', 'the address must end in the name of a checkpoint')
  }
  await checkpoints.remove(name)
  answerJson(res, 200, { ok: true, name })
}

/** Empty when it cannot be decoded. */
function decodedName(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return ''
  }
}

/** Removes what is stored under the hash at the end of the address. */
async function removeArtefact(
  res: ServerResponse,
  hex: string,
  store: HostSink['artefacts'],
): Promise<void> {
  if (store === null) throw artefactsOff()
  if (!isArtefactHex(hex)) {
    throw new ServiceError('body_invalid', 'the address must end in 64 lower-case hex digits', {
      hint: 'as in /host/v1/artefacts/<sha256>',
    })
  }
  const uri = artefactUri(hex)
  if (await store.remove(hex)) return answerJson(res, 200, { ok: true, uri })
  throw new ServiceError('resource_not_found', 'no artefact is stored under this hash', {
    data: { uri },
  })
}
