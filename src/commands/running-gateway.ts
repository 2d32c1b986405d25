import { ServiceError } from '../lib/util/errors.ts'
import { isRunning, processStart } from '../lib/instances/process.ts'
import { fail, ok } from '../lib/util/result.ts'
import type { Locate } from '../lib/mcp/bridge/context.ts'
import { isDead } from '../lib/instances/instance.ts'
import { defaultPorts } from './default-ports.ts'

/** The word for the running gateway, in place of an instance. */
export const gatewayWord = 'gateway'

const none = 'no gateway runs'

/** Said of a gateway that does not aggregate. */
export const rootsOnly =
  'the gateway only lists instances, so clients read no scene there: restart it with --aggregate'

/**
 * The gateways of the state directory, that of the usual port first. `ownerFile` has the owner's
 * token.
 */
export async function runningGateways(registryDir: string) {
  const { activeGatewayFile, gatewayOwnerFile, listActiveGatewayFiles } =
    await import('../server/gateway/active-gateway.ts')
  const files = await listActiveGatewayFiles(registryDir)
  const usual = files.filter(({ port }) => port === defaultPorts.gateway)
  const running = []
  for (const { port, written } of new Set([...usual, ...files])) {
    const { pid, pidStart } = written
    if (isDead(pidStart, isRunning(pid), await processStart(pid))) continue
    const ownerFile = gatewayOwnerFile(activeGatewayFile(registryDir, port))
    running.push({ ...written, ownerFile })
  }
  return running
}

/** The first of these gateways. Throws `network_failed` when none runs. */
export async function findGateway(registryDir: string) {
  const [gateway] = await runningGateways(registryDir)
  if (gateway !== undefined) return gateway
  throw new ServiceError('network_failed', none, { hint: 'service-cli gateway --aggregate' })
}

/** The running gateway, also after another one has taken over. */
export function locateGateway(registryDir: string): Locate {
  return async () => {
    const [gateway] = await runningGateways(registryDir)
    if (gateway === undefined) return fail(none)
    const { url, ownerFile } = gateway
    return ok({ url: new URL(url), ownerFile })
  }
}
