import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { ServiceError } from '../../util/errors.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../util/json.ts'
import type { Secret } from '../../util/secret.ts'
import type { Logger } from '../../util/logger.ts'
import { userAgent } from '../../util/version.ts'
import { HttpLink, overdueText } from '../bridge/http-link.ts'
import { openAnswer } from './call.ts'

/** The POST channel of the host link of a server on this machine (docs/host-link.md). */
export interface HostTarget {
  /** Ends in `/host`. */
  readonly url: URL
  readonly token: Secret
  readonly log: Logger
}

interface HostRequest {
  readonly method: 'POST' | 'DELETE'
  /** Relative to the URL of the target, such as `v1/artefacts`. */
  readonly path: string
  /** Sent as JSON; a stream as it is. */
  readonly body?: object | Readable
  /** The type of the stream. */
  readonly type?: string
  readonly signal?: AbortSignal
}

/** Sends a request and returns the answer. Rejects with `ServiceError`. */
export async function hostRequest(
  { url: { href }, token, log }: HostTarget,
  { method, path, body, type, signal = new AbortController().signal }: HostRequest,
): Promise<JsonObject> {
  const url = new URL(`${href.replace(/\/$/, '')}/${path}`)
  const overdue = ({ host }: URL): void => log.warn({}, overdueText(host))
  const link = new HttpLink({ key: token, env: {}, userAgent, overdue })
  const sent =
    type === undefined
      ? { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
      : { headers: { 'Content-Type': type }, body: body as Readable }
  try {
    const answer = await openAnswer({ url, link }, { url, method, ...sent, signal })
    const parsed = parseJson(await text(answer), 64)
    return parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'auth_refused') throw error
    const hint = 'the server may have restarted, or SERVICE_HOST_TOKEN belongs to another one'
    throw new ServiceError('auth_refused', error.message, { cause: error, hint })
  } finally {
    link.close()
  }
}
