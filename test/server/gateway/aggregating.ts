import { disposable } from '../../helpers/disposable.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import {
  type GatewayHandle,
  type GatewayOptions,
  startGateway,
} from '../../../src/server/gateway.ts'

/** A gateway on a free port that passes on what the instances of a state directory have. */
export async function startAggregating(
  registryDir: string,
  options: Partial<GatewayOptions> = {},
): Promise<GatewayHandle & AsyncDisposable> {
  const handle = await startGateway({
    port: 0,
    host: '127.0.0.1',
    allowedHosts: [],
    allowedOrigins: [],
    registryDir,
    standby: true,
    tools: true,
    aggregate: true,
    accessLog: () => {},
    log: silentLogger,
    ...options,
  })
  return disposable(handle)
}

/** The URI at a gateway of what an instance has. */
export const at = ({ instanceId }: { readonly instanceId: string }, path = 'scene/current') =>
  `instance://${instanceId}/${path}`
