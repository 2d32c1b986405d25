import { ServiceError } from '../../../lib/errors.ts'

/** Why a read of a resource of the application failed: `data.reason` on the wire. */
export type HostReason = 'host_busy' | 'host_disconnected' | 'host_timeout' | 'host_failed'

const texts: Readonly<Record<HostReason, readonly [message: string, hint: string]>> = {
  host_busy: [
    'the application is busy',
    'try again when it is done with what keeps it (a render, a dialog, a save)',
  ],
  host_disconnected: [
    'the application is not connected',
    'see that it runs and that its link to this server is switched on',
  ],
  host_timeout: [
    'the application did not answer in time',
    'try again; see in its window whether it hangs',
  ],
  host_failed: ['the application could not answer', 'its log says why'],
}

/** What the reader is told. */
export function hostFailure(reason: HostReason): ServiceError {
  const [message, hint] = texts[reason]
  return new ServiceError('resource_failed', message, { hint, data: { reason } })
}
