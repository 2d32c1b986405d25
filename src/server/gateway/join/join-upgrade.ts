import type { IncomingMessage } from 'node:http'
import { bearerToken } from '../../../lib/auth/validate-bearer-token.ts'
import { instanceHeader } from '../../../lib/instances/gateway-key.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { isUuid } from '../../../lib/util/text.ts'
import type { AccountTokens, CheckedToken } from '../../auth/account-tokens.ts'
import { toProblem } from '../../http/problem.ts'
import type { RefusedRequest } from '../../http/refusal-log.ts'
import { createHandshake, refuseUpgrade, type Upgrade } from '../../http/upgrade.ts'
import { joinProtocol, maxJoinMessageBytes } from '../../join/wire.ts'
import type { InstanceDirectory } from '../instance-directory.ts'
import type { JoinedInstances, Joining } from './joined-instances.ts'

interface JoinUpgradeParts {
  /** Checked by the accounts server when a link opens, and while it is open or lost. */
  tokens: Pick<AccountTokens, 'check' | 'watch'>
  joined: JoinedInstances
  directory: Pick<InstanceDirectory, 'refresh'>
  onRefused: (refused: RefusedRequest) => void
}

/** Creates the handler of requests that ask to open a link. */
export function createJoinUpgrade({
  tokens,
  joined,
  directory,
  onRefused,
}: JoinUpgradeParts): Upgrade {
  const handshake = createHandshake(joinProtocol, maxJoinMessageBytes)

  async function admit({ headers }: IncomingMessage): Promise<Joining> {
    if (headers.origin !== undefined) {
      throw new ServiceError('request_refused', 'web pages cannot join')
    }
    const token = bearerToken(headers.authorization) ?? ''
    const principal = principalOf(await tokens.check(token))
    const { [instanceHeader]: instanceId } = headers
    if (!isUuid(instanceId)) {
      throw new ServiceError('body_invalid', `a link needs the header ${instanceHeader}`)
    }
    // The ids of instances of this machine cannot be taken.
    await directory.refresh()
    const watch: Joining['watch'] = changed =>
      tokens.watch(token, now => {
        // Links stay open while the accounts server is away.
        if (now.ok) changed(principalOf(now))
        else if (now.failure.kind === 'invalid') changed(null)
      })
    return { instanceId, principal, watch }
  }

  return (req, socket, head, peer) => {
    admit(req)
      .then(joining => {
        joined.check(joining)
        handshake(req, socket, head, ws => joined.accept(ws, joining))
      })
      .catch(error => {
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
