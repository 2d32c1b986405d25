import { expiryText } from '../../lib/cli/duration-text.ts'
import { showOnce } from '../../lib/cli/show-once.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { TokenView } from '../../lib/registry/answers.ts'
import { connect } from './connect.ts'
import type { AccountFlags } from './context.ts'
import { timeOf } from './identity.ts'
import { openHere } from './here.ts'

export interface TokenCreateFlags extends AccountFlags {
  readonly scope?: readonly string[] | undefined
  readonly days?: number | undefined
}

/** Makes a service token. It is the only thing on stdout: this is the only time it is shown. */
export async function createToken(
  name: string,
  { scope, days, ...flags }: TokenCreateFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const context = await openHere(flags, env)
  const { client, withToken } = connect(context)
  const { token, ...made } = await withToken(session =>
    client.createToken(session, { name, scopes: scope, expiresInDays: days }),
  )
  const { output, registry } = context
  output.note(`${describe(made)}; this is the only time it is shown`)
  // Revealed here alone: a pipeline reads it from stdout.
  const json = { registry: registry.url, ...viewJson(made), token: token.reveal() }
  await showOnce(() => output.secret(token.reveal(), json), {
    what: 'token',
    leftOver: `service-cli token revoke ${made.id}`,
    run: () => withToken(session => client.revokeToken(session, made.id)),
  })
}

export async function listTokens(flags: AccountFlags, env: NodeJS.ProcessEnv): Promise<void> {
  const context = await openHere(flags, env)
  const { client, withToken } = connect(context)
  const tokens = await withToken(session => client.listTokens(session))
  const { output, registry } = context
  await output.result(tokens.map(describe).join('\n'), {
    registry: registry.url,
    tokens: tokens.map(viewJson),
  })
  if (tokens.length === 0) output.note(`the account has no service tokens at ${registry.url}`)
}

/** By id, or by a name that only one token has. */
export async function revokeToken(
  idOrName: string,
  flags: AccountFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const context = await openHere(flags, env)
  const { client, withToken } = connect(context)
  const revoked = await withToken(async session => {
    const meant = findToken(await client.listTokens(session), idOrName)
    await client.revokeToken(session, meant.id)
    return meant
  })
  const { output, registry } = context
  const { id, name } = revoked
  await output.result('', { registry: registry.url, id, name, revoked: true })
  output.note(`token "${name}" (${id}) is revoked`)
}

/** Throws `usage_invalid` when several have the name, `request_refused` when none has. */
export function findToken(tokens: readonly TokenView[], idOrName: string): TokenView {
  const byId = tokens.find(({ id }) => id === idOrName)
  if (byId !== undefined) return byId
  const [first, ...others] = tokens.filter(({ name }) => name === idOrName)
  if (first === undefined) {
    // Not repeated: it may be the token itself.
    throw new ServiceError(
      'request_refused',
      'the account has no service token of that name or id',
      {
        hint: 'service-cli token list shows them',
      },
    )
  }
  if (others.length === 0) return first
  const ids = [first, ...others].map(({ id }) => id).join(', ')
  throw new ServiceError('usage_invalid', `several tokens have that name: ${ids}`, {
    hint: 'name one by its id',
  })
}

function describe(token: TokenView): string {
  const nowMs = Date.now()
  const expiresAtMs = timeOf(token.expires_at)
  const usedAtMs = timeOf(token.last_used_at ?? undefined)
  const facts = [
    ...(token.scopes === undefined ? [] : [token.scopes.join(', ')]),
    ...(expiresAtMs === undefined ? [] : [expiryText(expiresAtMs, nowMs)]),
    ...(usedAtMs === undefined ? [] : [`last used ${token.last_used_at}`]),
  ]
  return [`token "${token.name}" (${token.id})`, facts.join('; ')].filter(Boolean).join(': ')
}

function viewJson(token: TokenView): Record<string, unknown> {
  return {
    id: token.id,
    name: token.name,
    scopes: token.scopes ?? null,
    created_at: token.created_at ?? null,
    expires_at: token.expires_at ?? null,
    last_used_at: token.last_used_at ?? null,
  }
}
