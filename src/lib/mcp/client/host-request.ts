import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { ServiceError } from '../../util/errors.ts'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import type { Secret } from '../../util/secret.ts'
import { HttpLink } from '../bridge/http-link.ts'
import { parseText } from '../bridge/rpc.ts'
import { openAnswer } from './call.ts'

/** The POST channel of the host link of a server on this machine (docs/host-link.md). */
export interface HostTarget {
  /** Ends in `/host`. */
  readonly url: URL
  readonly token: Secret
}

interface HostRequest {
  readonly method: 'POST' | 'DELETE'
  /** Relative to the URL of the target, such as `v1/artefacts`. */
  readonly path: string
  /** Sent as JSON; a stream as it is. */
  readonly body?: object | Readable
  /** The type of the stream. */
  readonly type?: string
}

/** Sends a request and returns the answer. Rejects with `ServiceError`. */
export async function hostRequest(
  target: HostTarget,
  { method, path, body, type = 'application/json' }: HostRequest,
): Promise<JsonObject> {
  const request = {
    method,
    headers: { 'Content-Type': type },
    body: body instanceof Readable ? body : JSON.stringify(body),
  }
  return withAnswer(target, path, request, async answer => {
    const value = parseText(await text(answer))
    return isJsonObject(value) ? value : {}
  })
}

/** Fetches what lies below the target and gives `take` its bytes. Rejects with `ServiceError`. */
export function hostDownload(
  target: HostTarget,
  path: string,
  take: (bytes: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  return withAnswer(target, path, { method: 'GET', headers: {} }, answer => take(whole(answer)))
}

async function* whole(answer: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* answer
  } catch (cause) {
    const message = 'the download is incomplete: the connection was cut'
    throw new ServiceError('network_failed', message, { cause, hint: 'run the command again' })
  }
}

async function withAnswer<Value>(
  { url: { href }, token }: HostTarget,
  path: string,
  request: Pick<Parameters<typeof openAnswer>[1], 'method' | 'headers' | 'body'>,
  take: (answer: Readable) => Promise<Value>,
): Promise<Value> {
  const link = new HttpLink({ key: token, env: {} })
  try {
    const url = new URL(`${href.replace(/\/$/, '')}/${path}`)
    const signal = new AbortController().signal
    return await take(await openAnswer(link, { url, signal, ...request }))
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'auth_refused') throw error
    const hint = 'the server may have restarted, or SERVICE_HOST_TOKEN belongs to another one'
    throw new ServiceError('auth_refused', error.message, { cause: error, hint })
  } finally {
    link.close()
  }
}
