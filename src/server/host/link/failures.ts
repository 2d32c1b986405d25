import { invalidMember } from '../../../lib/host-link/check.ts'
import type { LinkErrorCode } from '../../../lib/host-link/wire.ts'
import { isPrivate, publicMessage, ServiceError } from '../../../lib/util/errors.ts'
import { applicationWords } from '../../resources/errors.ts'

const failed = ['the application could not answer', 'its log says why'] as const
const failures = new Map<string, readonly [message: string, hint: string]>([
  ['host_busy', ['the application is busy', 'try again when its render, dialog or save is done']],
  ['host_disconnected', ['the application is not connected', 'open it and press Connect']],
  [
    'host_timeout',
    ['the application did not answer in time', 'try again; look at its window: it may hang'],
  ],
])

/**
 * What the client is told of a read that failed. `detail`: what the application said, passed on as its
 * words.
 */
export function hostFailure(code: string, detail = ''): ServiceError {
  const [message, hint] = failures.get(code) ?? failed
  const reason = failures.has(code) ? code : 'host_failed'
  return new ServiceError('resource_failed', message + applicationWords(detail), {
    hint,
    data: { reason },
  })
}

/** Why a message of the application is not accepted: its answer, word for word. */
export class LinkRefusal extends Error {
  readonly code: LinkErrorCode

  constructor(code: LinkErrorCode, message: string) {
    super(message)
    this.code = code
  }
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
  const code = codes[error.code] ?? (isPrivate(error) ? null : 'invalid')
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
