import { startGateway } from './gateway-server.ts'
import type { GatewayOptions } from './gateway-options.ts'

export type JoinOptions = Omit<GatewayOptions, 'standby' | 'patient' | 'onElection'>

/**
 * Competes for the gateway in the process of another server, and stands by quietly as long as it
 * takes. Whatever happens to the gateway is in the log, and never the end of that server.
 */
export function joinGateway(options: JoinOptions): { stop(): Promise<void> } {
  const { log } = options
  const cancel = new AbortController()
  const rules = { standby: true, patient: true }
  const starting = startGateway({ ...options, ...rules }, cancel.signal).then(
    handle => {
      const { url, instanceId } = handle
      log.info({ url, instance_id: instanceId }, 'the gateway listens')
      return handle
    },
    (error: unknown) => {
      if (!cancel.signal.aborted) log.warn({ err: error }, 'the gateway cannot run here')
      return null
    },
  )
  return {
    async stop() {
      cancel.abort()
      const handle = await starting
      await handle?.stop()
    },
  }
}
