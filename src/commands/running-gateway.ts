import { ServiceError } from '../lib/util/errors.ts'
import { isRunning, processStart } from '../lib/instances/process.ts'
import { fail, ok } from '../lib/util/result.ts'
import type { Locate } from '../lib/mcp/bridge/context.ts'
import { isDead } from '../lib/instances/instance.ts'
import { defaultPorts } from './default-ports.ts'

type ActiveGateway = import('../server/gateway/active-gateway.ts').ActiveGateway

interface GatewayFile {
  readonly written: ActiveGateway
  readonly port: number
}

/** The word for the running gateway, in place of an instance. */
export const gatewayWord = 'gateway'

const none = 'no gateway runs'

/** Said of a gateway that does not aggregate. */
export const rootsOnly =
  'the gateway only lists instances, so clients read no scene there: restart it with --aggregate'

/**
 * The gateway of the state directory, that of the usual port before others. Throws `network_failed`
 * when none runs.
 */
export async function findGateway(registryDir: string): Promise<ActiveGateway> {
  const [gateway] = await runningGateways(registryDir)
  if (gateway !== undefined) return gateway.written
  throw new ServiceError('network_failed', none, { hint: 'service-cli gateway --aggregate' })
}

/** The gateways of the state directory, that of the usual port first. */
export async function runningGateways(registryDir: string): Promise<GatewayFile[]> {
  const { listActiveGatewayFiles } = await import('../server/gateway/active-gateway.ts')
  const files = await listActiveGatewayFiles(registryDir)
  const usual = files.filter(({ port }) => port === defaultPorts.gateway)
  const running: GatewayFile[] = []
  for (const file of new Set([...usual, ...files])) {
    if (await isThere(file.written)) running.push(file)
  }
  return running
}

/** The file with the owner's token of the gateway with this address; undefined: of none. */
export async function gatewayOwnerFileOf(registryDir: string, url: URL) {
  const { activeGatewayFile, gatewayOwnerFile } =
    await import('../server/gateway/active-gateway.ts')
  const gateways = await runningGateways(registryDir)
  const gateway = gateways.find(({ written }) => new URL(written.url).href === url.href)
  return gateway && gatewayOwnerFile(activeGatewayFile(registryDir, gateway.port))
}

/** The running gateway, also after another one has taken over. */
export function locateGateway(registryDir: string): Locate {
  return async () => {
    const { activeGatewayFile, gatewayOwnerFile } =
      await import('../server/gateway/active-gateway.ts')
    const [gateway] = await runningGateways(registryDir)
    if (gateway === undefined) return fail(none)
    const { url } = gateway.written
    const ownerFile = gatewayOwnerFile(activeGatewayFile(registryDir, gateway.port))
    return ok({ url: new URL(url), ownerFile })
  }
}

async function isThere({ pid, pidStart }: ActiveGateway): Promise<boolean> {
  return !isDead(pidStart, isRunning(pid), await processStart(pid))
}
