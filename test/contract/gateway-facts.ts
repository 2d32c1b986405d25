import { startGatewayServer, type TestGateway } from '../helpers/gateway.ts'
import { RawSession } from '../helpers/mcp.ts'
import { entry } from '../helpers/memory-directory.ts'

export const ids = {
  blender: 'a1b2c3d4-0000-4000-8000-000000000001',
  maya: 'a1b2c3d4-0000-4000-8000-000000000002',
  houdini: 'ffff0000-0000-4000-8000-000000000003',
}

export interface Gateway extends TestGateway {
  session: RawSession
}

/** A gateway that sees Blender alive, Maya stale and Houdini dead. */
export async function servingGateway(check: (gateway: Gateway) => Promise<unknown>): Promise<void> {
  const gateway = await startGatewayServer({ limits: { listChangedIntervalMs: 20 } })
  try {
    gateway.directory.put(
      entry({ instanceId: ids.blender }),
      entry({ instanceId: ids.maya, dccType: 'maya' }, { health: 'stale', reason: 'silent' }),
      entry({ instanceId: ids.houdini, dccType: 'houdini' }, { health: 'dead', reason: 'ended' }),
    )
    await check({ ...gateway, session: await RawSession.open(gateway.url) })
  } finally {
    await gateway.stop()
  }
}
