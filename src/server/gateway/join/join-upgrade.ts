import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { bearerToken } from '../../../lib/auth/validate-bearer-token.ts'
import { instanceHeader } from '../../../lib/instances/gateway-key.ts'
import { joinProtocol, maxJoinMessageBytes } from '../../../lib/instances/join-wire.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { isUuid } from '../../../lib/util/text.ts'
import type { AccountTokens, CheckedToken } from '../../auth/account-tokens.ts'
import { toProblem } from '../../http/problem.ts'
import type { RefusedRequest } from '../../http/refusal-log.ts'
import { createHandshake, refuseUpgrade, type Upgrade } from '../../http/upgrade.ts'
import type { JoinedInstances, Joining } from './joined-instances.ts'

/** Creates the handler of requests that ask to open a link. */
export function createJoinUpgrade(
  tokens: AccountTokens,
  joined: JoinedInstances,
  onRefused: (refused: RefusedRequest) => void,
): Upgrade {
  const handshake = createHandshake(joinProtocol, maxJoinMessageBytes)

  async function open(req: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const { origin, authorization, [instanceHeader]: instanceId } = req.headers
    if (origin !== undefined) {
      throw new ServiceError('request_refused', 'web pages cannot join')
    }
    const token = bearerToken(authorization) ?? ''
    const principal = principalOf(await tokens.check(token))
    if (!isUuid(instanceId)) {
      throw new ServiceError('body_invalid', `a link needs the header ${instanceHeader}`)
    }
    const watch: Joining['watch'] = changed =>
      tokens.watch(token, now => {
        // Links stay open while the accounts server is away.
        if (now.ok) changed(principalOf(now))
        else if (now.failure.kind === 'invalid') changed(null)
      })
    const joining = { instanceId, principal, watch }
    await joined.directory.refresh()
    joined.check(joining)
    handshake(req, socket, head, ws => joined.accept(ws, joining))
  }

  return (req, socket, head, peer) => {
    open(req, socket, head).catch(error => {
      const problem = toProblem(error)
      const { status, code } = problem
      if (status === 401 || status === 403) onRefused({ status, reason: code, peer })
      refuseUpgrade(req, problem)
    })
  }
}

/** Throws for a token with which no instance joins. */
function principalOf(checked: CheckedToken): Joining['principal'] {
  if (!checked.ok) {
    const { kind, reason } = checked.failure
    throw new ServiceError(kind === 'unavailable' ? 'overloaded' : 'auth_refused', reason)
  }
  const { id: accountId, username: owner, team, scopes, token } = checked.value
  if (token === null) throw new ServiceError('auth_refused', 'the token is not a service token')
  if (!scopes.includes('instance')) {
    const message = 'the token does not have the scope "instance"'
    throw new ServiceError('scope_insufficient', message)
  }
  return { accountId, owner, team, name: token.name }
}
