import type { HostLimits } from './limits.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '../../lib/util/errors.ts'
import type { MemberFailure } from '../../lib/host-link/member-reader.ts'
import type { Result } from '../../lib/util/result.ts'
import { systemClock } from '../../lib/util/time.ts'
import { PutOptionInvalid } from '../artefacts/put-options.ts'
import type { ArtefactStore } from '../artefacts/store.ts'
import { bodyStream } from '../http/body.ts'
import { accepted, answerJson, invalidMember, readJson } from './json-post.ts'
import { toProblem, writeProblem } from '../http/problem.ts'
import type { Note } from '../notes/note.ts'
import type { NoteWriter } from '../notes/note-posts.ts'
import { checkUploads } from './guards.ts'
import { inWireName, parseUploadOptions } from './upload-options.ts'

/** What `notePost` makes of a body. */
type NotePost = (body: unknown) => Result<(notes: NoteWriter) => Promise<Note>, MemberFailure>

/** Makes a note, or takes an action on one. `notes` is null when they are switched off. */
export async function receiveNote(
  req: IncomingMessage,
  res: ServerResponse,
  post: NotePost,
  { notes, limits }: { notes: NoteWriter | null; limits: HostLimits },
): Promise<void> {
  const write = accepted(post(await readJson(req, limits)))
  if (notes === null) throw notesOff()
  answerJson(res, 200, { ok: true, note: await write(notes) })
}

/** Streams raw bodies into the store, so many at a time. */
export class UploadIntake {
  readonly #limits: HostLimits
  #running = 0

  constructor(limits: HostLimits) {
    this.#limits = limits
  }

  /** `store` is null when artefacts are switched off. Nothing stays behind of one that breaks off. */
  async receive(
    req: IncomingMessage,
    res: ServerResponse,
    store: Pick<ArtefactStore, 'put'> | null,
  ): Promise<void> {
    const { maxUploads } = this.#limits
    const tooMany = checkUploads(this.#running, maxUploads)
    if (tooMany !== null) return writeProblem(res, toProblem(tooMany.error), tooMany.headers)
    this.#running++
    try {
      if (store === null) throw artefactsOff()
      await this.#put(req, res, store)
    } finally {
      this.#running--
    }
  }

  async #put(
    req: IncomingMessage,
    res: ServerResponse,
    store: Pick<ArtefactStore, 'put'>,
  ): Promise<void> {
    const limits = this.#limits
    const url = req.url ?? ''
    const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : ''
    const options = accepted(
      parseUploadOptions(query, req.headers['content-type'], systemClock.now()),
    )
    const source = bodyStream(req, {
      // 0 is the store's word for "no bound".
      maxBytes: limits.maxArtefactBytes || Infinity,
      timeoutMs: limits.bodyTimeoutMs,
    })
    // An error of the request's body passes through the store unchanged and reaches the client.
    const put = store.put(source, options).catch((error: unknown) => {
      throw error instanceof PutOptionInvalid ? invalidMember(inWireName(error)) : error
    })
    const { ref, existed } = await put
    const sha256 = ref.digest.replace(/^sha256:/, '')
    answerJson(res, 201, { uri: ref.uri, sha256, existed })
  }
}

export function artefactsOff(): ServiceError {
  return new ServiceError('resource_not_enabled', 'artefacts are switched off', {
    hint: 'start the server without --no-artefacts',
  })
}

export function notesOff(): ServiceError {
  return new ServiceError('resource_not_enabled', 'notes are switched off', {
    hint: 'start the server without --no-notes',
  })
}
