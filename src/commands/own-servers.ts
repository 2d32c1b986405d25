import { join } from 'node:path'
import { instanceFile } from '../lib/instances/state-directory.ts'
import { liveInstances, localUrlOf } from '../lib/instances/live-instances.ts'
import { ServiceError } from '../lib/util/errors.ts'
import type { Logger } from '../lib/util/logger.ts'
import { defaultPorts } from './default-ports.ts'

/** The word for the running gateway, in place of an instance. */
export const gatewayWord = 'gateway'

/** Said of a gateway that does not aggregate. */
export const rootsOnly =
  'the gateway only lists instances, so clients read no scene there: restart it with --aggregate'

/** The running gateways, that of the usual port first. `ownerFile` has the owner's token. */
async function runningGateways(registryDir: string) {
  const { gatewayOwnerFile, listActiveGateways } =
    await import('../server/gateway/active-gateway.ts')
  const found = await listActiveGateways(registryDir)
  const isOther = ({ port }: { port: number }) => Number(port !== defaultPorts.gateway)
  return found
    .toSorted((left, right) => isOther(left) - isOther(right))
    .map(({ port, active }) => ({ ...active, ownerFile: gatewayOwnerFile(registryDir, port) }))
}

/** The first of the running gateways. Throws `network_failed` when none runs. */
export async function findGateway(registryDir: string) {
  const [gateway] = await runningGateways(registryDir)
  if (gateway !== undefined) return gateway
  throw new ServiceError('network_failed', 'no gateway runs', {
    hint: 'service-cli gateway --aggregate',
  })
}

/** The running instances and gateways of this account, by their addresses on this machine. */
export async function ownServers(registryDir: string, log: Logger) {
  const instances = await liveInstances(registryDir, log)
  const gateways = await runningGateways(registryDir)
  return [
    ...instances.map(instance => ({
      name: instance.display_name,
      url: localUrlOf(instance).href,
      ownerFile: instanceFile(join(registryDir, 'instances'), instance.instance_id, 'owner'),
    })),
    ...gateways.map(({ url, ownerFile }) => ({ name: 'gateway', url, ownerFile })),
  ]
}
