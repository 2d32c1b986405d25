import type { HostLimits } from '../limits.ts'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { ServiceError } from '../../../lib/util/errors.ts'
import { subprotocol } from '../../../lib/host-link/wire.ts'
import type { Secret } from '../../../lib/util/secret.ts'
import { toProblem } from '../../http/problem.ts'
import {
  Handshake,
  refuseUpgrade,
  type UpgradeEndpoint,
  wantsWebSocket,
} from '../../http/upgrade.ts'
import { checkStranger } from '../guards.ts'
import type { HostRefused } from '../routes.ts'

interface LinkUpgradeDeps {
  readonly token: Secret
  readonly limits: Pick<HostLimits, 'maxMessageBytes' | 'maxLinks'>
  openLinks(): number
  accept(ws: WebSocket, socket: Socket): void
  onRefused(refused: HostRefused): void
}

type LinkUpgrade = UpgradeEndpoint['upgrade']

/** Whether the request upgrades to the host link. Other upgrades are answered as plain requests. */
export const wantsLink = (req: IncomingMessage): boolean => wantsWebSocket(req, '/host')

/** Checks who asks for the host link, and opens it. */
export function createLinkUpgrade(deps: LinkUpgradeDeps): LinkUpgrade {
  const { maxMessageBytes, maxLinks } = deps.limits
  const handshake = new Handshake({ link: 'the host link', protocol: subprotocol, maxMessageBytes })
  return (req, socket, head, peer) => {
    const stranger = checkStranger(req, deps.token)
    if (stranger !== null) {
      const problem = toProblem(stranger.error)
      const { status } = problem
      deps.onRefused({ status, reason: stranger.reason, peer })
      return refuseUpgrade(socket, problem, stranger.headers)
    }
    if (handshake.refuses(req, socket)) return
    if (deps.openLinks() >= maxLinks) {
      const detail = `${maxLinks} links are open already`
      const busy = toProblem(new ServiceError('limit_reached', detail))
      return refuseUpgrade(socket, busy, { 'Retry-After': '10' })
    }
    handshake.open(req, socket, head, ws => deps.accept(ws, socket))
  }
}
