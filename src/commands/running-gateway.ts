import { ServiceError } from '../lib/util/errors.ts'
import { fail, ok } from '../lib/util/result.ts'
import type { Locate } from '../lib/mcp/bridge/context.ts'
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
  const { gatewayOwnerFile, listActiveGateways } =
    await import('../server/gateway/active-gateway.ts')
  const found = await listActiveGateways(registryDir)
  const usual = found.filter(({ port }) => port === defaultPorts.gateway)
  return [...new Set([...usual, ...found])].map(({ port, active }) => ({
    ...active,
    ownerFile: gatewayOwnerFile(registryDir, port),
  }))
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
