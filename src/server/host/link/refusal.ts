import type { LinkErrorCode } from '../../../lib/host-link/wire.ts'

/** Why a message of the application is not taken: its answer, word for word. */
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
