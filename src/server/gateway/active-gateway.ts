import { createHash } from 'node:crypto'
import { cleanText, isUuid } from '../../lib/util/text.ts'
import { isRfc3339 } from '../../lib/util/time.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../lib/util/json.ts'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readPrivateFile } from '../../lib/config/private-file.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { replaceFile } from '../../lib/util/replace-file.ts'
import type { Secret } from '../../lib/util/secret.ts'
import type { NodeHandler } from '../http/app.ts'
import { isLocalRequest } from '../http/trusted-proxies.ts'

/** A gateway, as it tells the programs of its machine who it is. */
export interface ActiveGateway {
  /** UUID, new for each run. */
  readonly instanceId: string
  readonly pid: number
  /** `processStart(pid)` */
  readonly pidStart: string | null
  readonly version: string
  /** Its MCP endpoint. */
  readonly url: string
  /** RFC 3339 */
  readonly startedAt: string
  /**
   * A hash of the state directory's path: equal for the same directory, and reveals nothing else.
   */
  readonly registry: string
  /** Whether it passes the resources of instances on. */
  readonly aggregate: boolean
}

/** What no other program answers: by this a gateway is told from a stranger on its port. */
export const identityPath = '/gateway/v1/resident'
export const maxActiveGatewayBytes = 4096

const maxPidStartChars = 128

/** `path` is the folder's real one: two spellings of a folder are one. */
export function registryMark(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 16)
}

export function activeGatewayJson(active: ActiveGateway): JsonObject {
  return {
    service: 'service-cli',
    role: 'gateway',
    instance_id: active.instanceId,
    pid: active.pid,
    pid_start: active.pidStart,
    version: active.version,
    url: active.url,
    started_at: active.startedAt,
    registry: active.registry,
    aggregate: active.aggregate,
  }
}

/** Null for anything a gateway does not say. Every text of it is safe to show. */
export function parseActiveGateway(text: string): ActiveGateway | null {
  const parsed = parseJson(text, 8)
  if (!parsed.ok || !isJsonObject(parsed.value)) return null
  const { service, role, instance_id, pid, pid_start, version } = parsed.value
  const { url, started_at, registry, aggregate } = parsed.value
  if (service !== 'service-cli' || role !== 'gateway') return null
  if (!isUuid(instance_id)) return null
  if (!isPid(pid)) return null
  if (typeof version !== 'string' || typeof registry !== 'string') return null
  if (typeof url !== 'string' || !/^https?:\/\//.test(url) || !URL.canParse(url)) return null
  if (!isRfc3339(started_at)) return null
  const known = typeof pid_start === 'string' && pid_start.length <= maxPidStartChars
  return {
    instanceId: instance_id,
    pid,
    pidStart: known ? pid_start : null,
    version: cleanText(version, 64),
    url: cleanText(url, 300),
    startedAt: started_at,
    registry: cleanText(registry, 64),
    aggregate: aggregate === true,
  }
}

/** Files that are read: many were killed before that many are there. */
const maxListed = 256

/**
 * The file in which the gateway of a port describes itself, in a folder that only this user can
 * change. It proves which process holds the port, also when that process hangs. A gateway that
 * yields removes it; one that is killed leaves it.
 */
export function activeGatewayFile(registryDir: string, port: number): string {
  return join(registryDir, `gateway-${port}.json`)
}

export async function writeActiveGatewayFile(path: string, active: ActiveGateway): Promise<void> {
  await replaceFile(path, `${JSON.stringify(activeGatewayJson(active))}\n`, { durable: false })
}

/** Where the token lies with which commands of the same account use the gateway. */
export function gatewayOwnerFile(activeFile: string): string {
  return activeFile.replace(/\.json$/, '.owner')
}

export async function writeGatewayOwnerFile(activeFile: string, token: Secret): Promise<void> {
  await replaceFile(gatewayOwnerFile(activeFile), token.reveal(), { durable: false })
}

/** Null when there is no such file of this user, or its content is invalid. */
export async function readActiveGatewayFile(path: string): Promise<ActiveGateway | null> {
  const file = readPrivateFile(path, { maxBytes: maxActiveGatewayBytes })
  const text = await file.catch(() => null)
  return text === null ? null : parseActiveGateway(text)
}

const fileName = /^gateway-(\d{1,5})\.json$/

/** The files of all gateways in the state directory, by port; also those of killed gateways. */
export async function listActiveGatewayFiles(
  registryDir: string,
): Promise<{ readonly port: number; readonly written: ActiveGateway }[]> {
  const names = await readdir(registryDir).catch(() => [])
  const ports = names.flatMap(name => (fileName.exec(name)?.slice(1) ?? []).map(Number))
  const found = []
  for (const port of ports.toSorted((a, b) => a - b).slice(0, maxListed)) {
    const written = await readActiveGatewayFile(activeGatewayFile(registryDir, port))
    if (written !== null) found.push({ port, written })
  }
  return found
}

/** Only its own: the port may have a new gateway. */
export async function removeActiveGatewayFile(path: string, instanceId: string): Promise<void> {
  const found = await readActiveGatewayFile(path)
  if (found?.instanceId !== instanceId) return
  await rm(gatewayOwnerFile(path), { force: true }).catch(() => {})
  await rm(path, { force: true }).catch(() => {})
}

/** Tells programs on this machine which gateway this is. All others get 404. */
export function createIdentityRoute(active: () => ActiveGateway | null): NodeHandler {
  return (req, res, context) => {
    // Each standby asks twice a second.
    context.isLogged = false
    const known = active()
    if (known === null || !isLocalRequest(req)) {
      throw new ServiceError('route_not_found', 'nothing is served here')
    }
    if (req.method !== 'GET') {
      throw new ServiceError('method_not_allowed', 'only GET is allowed here')
    }
    const body = Buffer.from(JSON.stringify(activeGatewayJson(known)))
    res.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': body.length,
      'Cache-Control': 'no-store',
    })
    res.end(body)
  }
}

/** 0 and negative numbers are process groups, not processes. */
function isPid(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}
