import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { readPrivateFile } from '../../lib/config/private-file.ts'
import { isRunning } from '../../lib/instances/process.ts'
import { replaceFile } from '../../lib/util/replace-file.ts'
import type { Secret } from '../../lib/util/secret.ts'

/** A gateway, as it describes itself in a file. Member names are those on disk. */
const activeGateway = z.object({
  /** UUID, new for each run. */
  instance_id: z.string(),
  pid: z.int().positive(),
  /** `processStart(pid)` */
  pid_start: z.string().nullable(),
  /** Its MCP endpoint. */
  url: z.url(),
  /** Whether it passes the resources of instances on. */
  aggregate: z.boolean(),
})

export type ActiveGateway = z.infer<typeof activeGateway>

/**
 * The file in which the gateway of a port describes itself, in a folder that only this user can
 * change. A gateway that yields removes it; one that is killed leaves it.
 */
function identityFile(registryDir: string, port: number): string {
  return join(registryDir, `gateway-${port}.json`)
}

/** Where the token lies with which commands of the same account use the gateway of a port. */
export function gatewayOwnerFile(registryDir: string, port: number): string {
  return join(registryDir, `gateway-${port}.owner`)
}

export async function writeActiveGateway(
  registryDir: string,
  port: number,
  active: ActiveGateway,
  ownerToken: Secret,
): Promise<void> {
  const text = `${JSON.stringify(active)}\n`
  await replaceFile(identityFile(registryDir, port), text, { durable: false })
  await replaceFile(gatewayOwnerFile(registryDir, port), ownerToken.reveal(), { durable: false })
}

/** Only its own: the port may have a new gateway. */
export async function removeActiveGateway(
  registryDir: string,
  port: number,
  instanceId: string,
): Promise<void> {
  const active = await readActiveGateway(registryDir, port)
  if (active?.instance_id !== instanceId) return
  for (const file of [gatewayOwnerFile, identityFile]) {
    await rm(file(registryDir, port), { force: true }).catch(() => {})
  }
}

/** The gateway of this state directory that has the port; null when none has that runs. */
export async function readActiveGateway(
  registryDir: string,
  port: number,
): Promise<ActiveGateway | null> {
  try {
    const text = await readPrivateFile(identityFile(registryDir, port))
    const active = activeGateway.parse(JSON.parse(text ?? ''))
    return isRunning(active.pid, active.pid_start) ? active : null
  } catch {
    return null
  }
}

/** The running gateways of the state directory, by port. */
export async function listActiveGateways(registryDir: string) {
  const names = await readdir(registryDir).catch(() => [])
  const ports = names.flatMap(name => /^gateway-(\d{1,5})\.json$/.exec(name)?.[1] ?? []).map(Number)
  const found = []
  for (const port of ports.toSorted((a, b) => a - b)) {
    const active = await readActiveGateway(registryDir, port)
    if (active !== null) found.push({ port, active })
  }
  return found
}
