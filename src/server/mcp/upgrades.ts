import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { checkRequest, refusalError } from '../http/guards.ts'
import type { Upgrades } from '../http/listen.ts'
import { toProblem } from '../http/problem.ts'
import type { RefusedRequest } from '../http/refusal-log.ts'
import { refuseUpgrade } from '../http/refused-upgrade.ts'
import type { RequestChecks } from '../http/request-checks.ts'
import { parseTarget } from '../http/request-target.ts'

/** What the application talks to. */
export interface HostEndpoint {
  handle(req: IncomingMessage, res: ServerResponse, path: string): Promise<void>
  /** Whether the upgrade is for this handler. */
  wantsUpgrade(req: IncomingMessage): boolean
  upgrade(req: IncomingMessage, socket: Socket, head: Buffer): void
  /** Tells the application that the server stops, and lets it go. */
  close(): void
}

/** What instances of other machines join. */
export interface JoinEndpoint {
  wantsUpgrade(req: IncomingMessage): boolean
  /** `peer`: the address of the client. */
  upgrade(req: IncomingMessage, socket: Socket, head: Buffer, peer: string): void
}

interface UpgradeParts extends RequestChecks {
  readonly host?: HostEndpoint
  readonly joins?: JoinEndpoint
  readonly onRefused: (refused: RefusedRequest) => void
}

/**
 * Takes requests that leave HTTP for the host link, or to join; they pass the guards that all
 * requests pass.
 */
export function createUpgrades({
  guard,
  peerOf,
  host,
  joins,
  onRefused,
}: UpgradeParts): Upgrades | undefined {
  const endpoints = [host, joins].filter(endpoint => endpoint !== undefined)
  if (endpoints.length === 0) return undefined
  return {
    wants: req => endpoints.some(endpoint => endpoint.wantsUpgrade(req)),
    handle(req, socket, head) {
      const refusal = checkRequest(req, parseTarget(req.url ?? ''), guard)
      const endpoint = endpoints.find(endpoint => endpoint.wantsUpgrade(req))
      if (refusal === null) return endpoint?.upgrade(req, socket, head, peerOf(req))
      const { status, reason } = refusal
      if (status === 403) onRefused({ status, reason, peer: peerOf(req) })
      refuseUpgrade(socket, toProblem(refusalError(refusal)))
    },
  }
}
