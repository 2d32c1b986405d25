import { apiPrefix } from '../../../lib/accounts/protocol.ts'
import { toRfc3339 } from '../../../lib/util/time.ts'
import { logoutRequest, meResponse, type MeResponse } from '../../../lib/accounts/wire.ts'
import type { Principal } from '../authenticate.ts'
import { type Route, route } from '../route.ts'
import type { AccountServices } from '../services.ts'
import { accountView } from '../views.ts'

export function sessionRoutes({ store, audit, clock }: AccountServices): Route[] {
  return [
    route({
      method: 'get',
      path: `${apiPrefix}/me`,
      summary: 'Whose token this is',
      access: 'any',
      answer: meResponse,
      handle: async ({ principal }) => meView(principal),
    }),
    route({
      method: 'post',
      path: `${apiPrefix}/logout`,
      summary: 'End this session, or every session of the account',
      access: 'account',
      body: logoutRequest,
      handle: async ({ body, principal, call }) => {
        const { account, session } = principal
        if (body?.all === true) {
          const ended = await store.revokeSessions(account.id, 'logout', clock.now())
          await audit.record('logout.all', call, account.id, { ended })
        } else if (session !== null) {
          await store.revokeSession(account.id, session.id, 'logout', clock.now())
          await audit.record('logout', call, account.id, { session_id: session.id })
        }
      },
    }),
  ]
}

function meView({ account, scopes, session, token }: Principal): MeResponse {
  return {
    ...accountView(account),
    team: account.team,
    scopes: [...scopes],
    session:
      session === null
        ? null
        : {
            id: session.id,
            created_at: toRfc3339(session.createdAtMs),
            expires_at: toRfc3339(session.expiresAtMs),
          },
    token:
      token === null
        ? null
        : { id: token.id, name: token.name, expires_at: toRfc3339(token.expiresAtMs) },
  }
}
