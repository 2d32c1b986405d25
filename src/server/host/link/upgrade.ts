import type { HostLimits } from '../limits.ts'
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { ServiceError } from '../../../lib/util/errors.ts'
import { subprotocol } from '../../../lib/host-link/wire.ts'
import type { Secret } from '../../../lib/util/secret.ts'
import { toProblem } from '../../http/problem.ts'
import { createHandshake, refuseUpgrade } from '../../http/handshake.ts'
import type { Upgrade } from '../../http/upgrade.ts'
import { type AppOrigin, expectToken, findAppOrigin } from '../app-origins.ts'
import { checkPlace, checkStranger } from '../guards.ts'
import type { HostRefused } from '../routes.ts'

interface LinkUpgradeDeps {
  readonly token: Secret
  readonly appOrigins: readonly AppOrigin[]
  readonly limits: Pick<HostLimits, 'maxMessageBytes' | 'maxLinks'>
  openLinks(): number
  accept(ws: WebSocket, socket: Socket, fromPage: boolean): void
  onRefused(refused: HostRefused): void
}

/** Checks who asks for the host link, and opens it. */
export function createLinkUpgrade(deps: LinkUpgradeDeps): Upgrade {
  const { maxMessageBytes, maxLinks } = deps.limits
  const handshake = createHandshake(subprotocol, maxMessageBytes)
  return (req, socket, head, peer) => {
    const page = findAppOrigin(deps.appOrigins, req)
    const stranger = page === null ? checkStranger(req, deps.token, null) : checkPlace(req)
    if (stranger !== null) {
      const problem = toProblem(stranger.error)
      const { status } = problem
      deps.onRefused({ status, reason: stranger.reason, peer })
      return refuseUpgrade(req, problem, stranger.headers)
    }
    if (deps.openLinks() >= maxLinks) {
      const detail = `${maxLinks} links are open already`
      const busy = toProblem(new ServiceError('limit_reached', detail))
      return refuseUpgrade(req, busy, { 'Retry-After': '10' })
    }
    handshake(req, socket, head, ws => {
      if (page !== null) {
        expectToken(ws, page, () => deps.onRefused({ status: 401, reason: 'token_wrong', peer }))
      }
      deps.accept(ws, socket, page !== null)
    })
  }
}
