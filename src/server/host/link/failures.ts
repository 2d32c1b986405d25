import { invalidMember } from '../../../lib/host-link/check.ts'
import type { LinkErrorCode } from '../../../lib/host-link/wire.ts'
import { isLocal, publicMessage, ServiceError } from '../../../lib/util/errors.ts'
import { applicationWords } from '../../resources/errors.ts'

/** Why a read of a resource of the application failed: `data.reason` on the wire. */
type HostReason = NoAnswer | 'host_failed'

/** Why a request to the application has no answer. */
export type NoAnswer = 'host_busy' | 'host_disconnected' | 'host_timeout'

const texts: Readonly<Record<HostReason, readonly [message: string, hint: string]>> = {
  host_busy: ['the application is busy', 'try again when its render, dialog or save is done'],
  host_disconnected: ['the application is not connected', 'open it and press Connect'],
  host_timeout: [
    'the application did not answer in time',
    'try again; look at its window: it may hang',
  ],
  host_failed: ['the application could not answer', 'its log says why'],
}

/** What the client is told; `applicationMessage` is passed on as the words of the application. */
export function hostFailure(reason: HostReason, applicationMessage = ''): ServiceError {
  const [message, hint] = texts[reason]
  const words = applicationWords(applicationMessage)
  return new ServiceError('resource_failed', message + words, { hint, data: { reason } })
}

/** Why a message of the application is not accepted: its answer, word for word. */
export class LinkRefusal extends Error {
  override readonly name = 'LinkRefusal'
  readonly code: LinkErrorCode

  constructor(code: LinkErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

const retryable: readonly LinkErrorCode[] = ['limit', 'busy', 'internal', 'host_taken']

/** `docs/host-link.md`, "Codes of errors" */
export function isRetryable(code: LinkErrorCode): boolean {
  return retryable.includes(code)
}

const codes: Partial<Record<ServiceError['code'], LinkErrorCode>> = {
  limit_reached: 'limit',
  storage_full: 'limit',
  artefact_too_large: 'limit',
  scene_stale: 'stale',
  resource_not_found: 'not_found',
  resource_not_enabled: 'unsupported',
}

/** The answer to a message that failed; null: the server is at fault. */
export function refusalOf(error: unknown): LinkRefusal | null {
  if (error instanceof LinkRefusal) return error
  if (!(error instanceof ServiceError)) return null
  const code = codes[error.code] ?? (isLocal(error) ? null : 'invalid')
  return code && new LinkRefusal(code, publicMessage(error))
}

/** Calls `change`, whose `TypeError` says what is wrong with the scene of the application. */
export function changeScene(change: () => number): number {
  try {
    return change()
  } catch (error) {
    throw error instanceof TypeError ? invalidMember('', error.message) : error
  }
}
