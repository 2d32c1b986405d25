import { apiPrefix } from '../../../lib/accounts/protocol.ts'
import {
  defaultServiceScopes,
  serviceScopes,
  tokenCreatedResponse,
  type TokenCreatedResponse,
  tokenRequest,
  type TokenRequest,
  tokensResponse,
} from '../../../lib/accounts/wire.ts'
import { type Principal, revoked } from '../authenticate.ts'
import type { Call } from '../call.ts'
import { AccountsProblem } from '../problems.ts'
import { type Route, route } from '../route.ts'
import type { AccountServices } from '../services.ts'
import { hashOfSecret, makeServiceToken } from '../service-tokens.ts'
import { isUuid } from '../../../lib/util/text.ts'
import { makeUuid } from '../uuid.ts'
import { serviceTokenView } from '../views.ts'

const dayMs = 24 * 60 * 60 * 1000

export function tokenRoutes({ store, audit, clock, limits }: AccountServices): Route[] {
  async function create(
    { name, scopes = [...defaultServiceScopes], expires_in_days: days }: TokenRequest,
    { account }: Principal,
    call: Call,
  ): Promise<TokenCreatedResponse> {
    const nowMs = clock.now()
    if ((await store.countServiceTokens(account.id, nowMs)) >= limits.maxServiceTokens) {
      const message = `the account has ${limits.maxServiceTokens} service tokens; revoke some first`
      throw new AccountsProblem('too-many-tokens', message)
    }
    const text = makeServiceToken()
    const token = {
      id: makeUuid(nowMs),
      accountId: account.id,
      name,
      secretHash: hashOfSecret(text),
      scopes: serviceScopes.filter(scope => scopes.includes(scope)),
      createdAtMs: nowMs,
      expiresAtMs: nowMs + (days === undefined ? limits.serviceTokenMs : days * dayMs),
    }
    if (!(await store.createServiceToken(token))) throw revoked()
    const details = { token_id: token.id, name, scopes: token.scopes.join(' ') }
    await audit.record('token.created', call, account.id, details)
    return { ...serviceTokenView({ ...token, lastUsedAtMs: null }), token: text }
  }

  return [
    route({
      method: 'post',
      path: `${apiPrefix}/tokens`,
      summary: 'Make a service token; this answer alone shows it',
      access: 'account',
      body: tokenRequest,
      status: 201,
      answer: tokenCreatedResponse,
      problems: ['too-many-tokens'],
      handle: ({ body, principal, call }) => create(body, principal, call),
    }),
    route({
      method: 'get',
      path: `${apiPrefix}/tokens`,
      summary: 'The service tokens of the account',
      access: 'account',
      answer: tokensResponse,
      handle: async ({ principal: { account } }) => {
        const rows = await store.listServiceTokens(account.id, clock.now())
        return { tokens: rows.map(serviceTokenView) }
      },
    }),
    route({
      method: 'delete',
      path: `${apiPrefix}/tokens/:id`,
      summary: 'Revoke a service token',
      access: 'account',
      problems: ['not-found'],
      handle: async ({ principal: { account }, params: { id = '' }, call }) => {
        const gone = isUuid(id) && (await store.revokeServiceToken(account.id, id, clock.now()))
        if (!gone) throw new AccountsProblem('not-found', 'the account has no such service token')
        await audit.record('token.revoked', call, account.id, { token_id: id })
      },
    }),
  ]
}
