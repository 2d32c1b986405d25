import { stoppedAtEnd } from '../../helpers/cleanup.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
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
): Promise<GatewayHandle> {
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
  return { ...handle, stop: stoppedAtEnd(() => handle.stop()) }
}

/** The URI at a gateway of what an instance has. */
export const at = ({ instanceId }: { readonly instanceId: string }, path = 'scene/current') =>
  `instance://${instanceId}/${path}`

export const sceneOf = (x: number) => ({
  schema: 'dcc-scene/1',
  document: { name: 'shot_010.blend' },
  objects: [{ id: 'Cube', name: 'Cube', type: 'mesh', translate: [x, 0, 0] }],
})

/** A gateway in front of a Blender with its cube at 0 and a Maya with its cube at 5. */
export async function startTwoInstances(registryDir: string, flags: string[] = []) {
  const start = (dccType: string) =>
    serveInProcess({
      registryDir,
      flags: ['--dcc-type', dccType, '--name', `my ${dccType}`, ...flags],
    })
  const [blender, maya] = await Promise.all([start('blender'), start('maya')])
  const gateway = await startAggregating(registryDir)
  await blender.post('scene', sceneOf(0))
  await maya.post('scene', sceneOf(5))
  return { blender, maya, gateway }
}
