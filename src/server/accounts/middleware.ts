import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { describeRoute, resolver, validator } from 'hono-openapi'
import type { z } from 'zod'
import { problem } from '../../lib/accounts/wire.ts'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import { escapePointer } from '../../lib/util/json.ts'
import type { AppEnv } from '../http/app.ts'
import { AccountsProblem } from './problems.ts'
import type { AccountRow, SessionRow } from './schema.ts'
import type { Principal, Tokens } from './tokens.ts'

export interface AccountsEnv extends AppEnv {
  Variables: {
    /** On routes behind `requireLogin`. */
    account: AccountRow
    session: SessionRow
  }
}

/** Throws `token-missing`, and what `Tokens.authenticate` throws. */
export async function authenticate(c: Context<AccountsEnv>, tokens: Tokens): Promise<Principal> {
  const token = bearerToken(c.req.header('Authorization'))
  if (token === null) {
    const message = 'a token is required: send "Authorization: Bearer <token>"'
    throw new AccountsProblem('token-missing', message)
  }
  const principal = await tokens.authenticate(token)
  c.env.call.principal = principal.account.id
  return principal
}

/** Lets only the access token of a login pass. */
export function requireLogin(tokens: Tokens) {
  return createMiddleware<AccountsEnv>(async (c, next) => {
    const { account, session } = await authenticate(c, tokens)
    if (session === null) {
      const message = 'a service token cannot manage the account: log in with the password'
      throw new AccountsProblem('insufficient-scope', message)
    }
    c.set('account', account)
    c.set('session', session)
    await next()
  })
}

/** The body as the schema has it, in `c.req.valid('json')`. Throws `validation-failed`. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return validator('json', schema, result => {
    if (result.success) return
    const errors = result.error.slice(0, 16).map(({ message, path = [] }) => {
      const names = path.map(part => (typeof part === 'object' ? part.key : part))
      const pointer = names.map(name => `/${escapePointer(String(name))}`).join('')
      return { pointer, detail: message }
    })
    const [first] = errors
    const where = first?.pointer === '' ? 'the body' : first?.pointer
    throw new AccountsProblem('validation-failed', `${where}: ${first?.detail}`, { errors })
  })
}

/** The OpenAPI description of a route: its answer, whatever is refused, and whether it needs a token. */
export function describe(
  summary: string,
  { answer, status, token = false }: { answer?: z.ZodType; status?: number; token?: boolean },
) {
  const success = status ?? (answer === undefined ? 204 : 200)
  const content = answer && { 'application/json': { schema: answerSchema(answer) } }
  const refusal = { 'application/problem+json': { schema: answerSchema(problem) } }
  return describeRoute({
    summary,
    security: token ? [{ bearer: [] }] : [],
    responses: {
      [success]: { description: 'Done', content },
      default: { description: 'A problem (RFC 9457)', content: refusal },
    },
  })
}

/** Answers stay open for members to come: `input` does not close them. */
function answerSchema(schema: z.ZodType) {
  return resolver(schema, { io: 'input' })
}
