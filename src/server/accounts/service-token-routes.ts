import { randomBytes, randomUUID } from 'node:crypto'
import type { Hono } from 'hono'
import { apiPrefix, serviceTokenPrefix } from '../../lib/accounts/protocol.ts'
import {
  defaultServiceScopes,
  serviceScopes,
  type ServiceTokenView,
  tokenCreatedResponse,
  tokenRequest,
  tokensResponse,
} from '../../lib/accounts/wire.ts'
import { isUuid } from '../../lib/util/text.ts'
import { rfc3339OrNull, toRfc3339 } from '../../lib/util/time.ts'
import {
  type AccountsEnv,
  audit,
  describe,
  jsonBody,
  requireLogin,
  requireToken,
} from './middleware.ts'
import { AccountsProblem } from './problems.ts'
import type { Services } from './routes.ts'
import type { NewServiceToken, ServiceTokenRow } from './schema.ts'
import { hashOfSecret } from './tokens.ts'

const defaultDays = 90
const dayMs = 24 * 60 * 60 * 1000

/** The service tokens of an account, for pipelines and agents. */
export function addServiceTokenRoutes(app: Hono<AccountsEnv>, services: Services): void {
  const { store, tokens } = services

  app.post(
    `${apiPrefix}/tokens`,
    describe('Make a service token; this answer alone shows it', {
      answer: tokenCreatedResponse,
      status: 201,
      token: true,
    }),
    requireToken(tokens),
    requireLogin,
    jsonBody(tokenRequest),
    async c => {
      const { name, scopes = defaultServiceScopes, expires_in_days } = c.req.valid('json')
      const { account } = c.var.principal
      const secret = serviceTokenPrefix + randomBytes(30).toString('base64url')
      const createdAtMs = Date.now()
      const token: NewServiceToken = {
        id: randomUUID(),
        accountId: account.id,
        name,
        secretHash: hashOfSecret(secret),
        scopes: [...new Set(scopes)],
        createdAtMs,
        expiresAtMs: createdAtMs + (expires_in_days ?? defaultDays) * dayMs,
      }
      await store.createServiceToken(token)
      const details = { token_id: token.id, name, scopes: token.scopes.join(' ') }
      await audit(c, services, 'token.created', account.id, details)
      return c.json({ ...serviceTokenView(token), token: secret }, 201)
    },
  )

  app.get(
    `${apiPrefix}/tokens`,
    describe('The service tokens of the account', { answer: tokensResponse, token: true }),
    requireToken(tokens),
    requireLogin,
    async c => {
      const rows = await store.listServiceTokens(c.var.principal.account.id, Date.now())
      return c.json({ tokens: rows.map(serviceTokenView) })
    },
  )

  app.delete(
    `${apiPrefix}/tokens/:id`,
    describe('Revoke a service token', { token: true }),
    requireToken(tokens),
    requireLogin,
    async c => {
      const { account } = c.var.principal
      const id = c.req.param('id')
      if (!isUuid(id) || !(await store.revokeServiceToken(account.id, id, Date.now()))) {
        throw new AccountsProblem('not-found', 'the account has no such service token')
      }
      await audit(c, services, 'token.revoked', account.id, { token_id: id })
      return c.body(null, 204)
    },
  )
}

export function serviceTokenView(
  token: NewServiceToken & Partial<Pick<ServiceTokenRow, 'lastUsedAtMs'>>,
): ServiceTokenView {
  return {
    id: token.id,
    name: token.name,
    scopes: serviceScopes.filter(scope => token.scopes.includes(scope)),
    created_at: toRfc3339(token.createdAtMs),
    expires_at: toRfc3339(token.expiresAtMs),
    last_used_at: rfc3339OrNull(token.lastUsedAtMs),
  }
}
