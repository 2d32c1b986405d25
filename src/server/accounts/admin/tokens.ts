import { serviceTokenPrefix } from '../../../lib/accounts/protocol.ts'
import { cleanText } from '../../../lib/util/text.ts'
import { ServiceError, usage } from '../../../lib/util/errors.ts'
import { isServiceToken } from '../service-tokens.ts'
import { serviceTokenView } from '../views.ts'
import { everyAccount, findAccount } from './users.ts'
import type { Admin } from './open-admin.ts'

/** The valid service tokens of one account, or of all in the order of their names. */
export async function listTokens(admin: Admin, { name, limit }: { name?: string; limit: number }) {
  const tokens = []
  for await (const found of livingTokens(admin, name)) {
    if (tokens.length === limit) return { tokens, more: true }
    tokens.push({ username: found.username, ...serviceTokenView(found.token) })
  }
  return { tokens, more: false }
}

/** Throws `request_refused` when no valid service token has the id. */
export async function revokeToken(admin: Admin, id: string) {
  if (id.startsWith(serviceTokenPrefix)) throw isSecret(id)
  for await (const { token, username } of livingTokens(admin)) {
    if (token.id !== id) continue
    await admin.store.revokeServiceToken(token.accountId, id, admin.clock.now())
    await admin.record('token.revoked', token.accountId, { token_id: id })
    return { id, name: token.name, username, revoked: true }
  }
  const message = `there is no valid service token with the id "${cleanText(id, 100)}"`
  throw new ServiceError('request_refused', message, {
    hint: 'service-cli registry tokens list shows them',
  })
}

async function* livingTokens(admin: Admin, name?: string) {
  const accounts = name === undefined ? everyAccount(admin) : [await findAccount(admin, name)]
  for await (const { id, username } of accounts) {
    const tokens = await admin.store.listServiceTokens(id, admin.clock.now())
    for (const token of tokens) yield { token, username }
  }
}

/** The error names no character of the text. */
function isSecret(text: string): ServiceError {
  const what = isServiceToken(text) ? 'this is a token itself' : 'this looks like a token itself'
  return usage(`${what}, not its id`, 'service-cli registry tokens list shows the ids')
}

/** Ends every login of the account, and no service token. */
export async function endSessions(admin: Admin, name: string) {
  const { id, username } = await findAccount(admin, name)
  const ended = await admin.store.revokeSessions(id, 'ended_by_owner', admin.clock.now())
  await admin.record('sessions.ended', id, { ended })
  return { id, username, ended }
}
