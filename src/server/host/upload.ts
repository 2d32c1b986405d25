import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../lib/util/clock.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { PutOptionInvalid } from '../artefacts/put-options.ts'
import { bodyStream } from '../http/body.ts'
import type { Limits } from '../../lib/config/limits.ts'
import type { ArtefactStore } from '../artefacts/store.ts'
import { accepted, answerJson, invalidMember } from './json-exchange.ts'
import { inWireName, parseUploadOptions } from './upload-options.ts'

/** Streams the raw body into the store; nothing stays behind of a body that breaks off. */
export async function receiveArtefact(
  req: IncomingMessage,
  res: ServerResponse,
  store: Pick<ArtefactStore, 'put'> | null,
  limits: Limits,
  clock: Clock,
): Promise<void> {
  if (store === null) throw artefactsOff()
  const url = req.url ?? ''
  const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : ''
  const options = accepted(
    parseUploadOptions(query, req.headers['content-type'], clock.now(), limits),
  )
  const source = bodyStream(req, {
    // 0 is the store's word for "no bound".
    maxBytes: limits.maxArtefactBytes || Infinity,
    timeoutMs: limits.bodyTimeoutMs,
  })
  // What the body throws comes out of the store as it is: the client hears of its own body.
  const { ref, existed } = await store.put(source, options).catch((error: unknown) => {
    throw error instanceof PutOptionInvalid ? invalidMember(inWireName(error)) : error
  })
  const sha256 = ref.digest.replace(/^sha256:/, '')
  answerJson(res, 201, { uri: ref.uri, sha256, existed })
}

export function artefactsOff(): ServiceError {
  return new ServiceError('resource_not_enabled', 'artefacts are switched off', {
    hint: 'start the server without --no-artefacts',
  })
}
