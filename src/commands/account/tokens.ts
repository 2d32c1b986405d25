import { parseTime } from '../../lib/util/time.ts'
import { expiryText } from '../../lib/util/amounts.ts'
import { wrapWords } from '../../lib/cli/format.ts'
import { terminalWidth } from '../../lib/cli/terminal.ts'
import { type PromptTerminal, requireQuestioner, whyNoQuestions } from '../../lib/cli/prompt.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import type { TokenView } from '../../lib/accounts/answers.ts'
import { connect } from './connect.ts'
import { type AccountFlags, openContext, promptPlace } from './context.ts'

interface TokenCreateFlags extends AccountFlags {
  readonly scope?: readonly string[]
  readonly days?: number
}

/** Makes a service token. It is the only thing on stdout: this is the only time it is shown. */
export async function createToken(
  name: string,
  { scope, days, ...flags }: TokenCreateFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const context = await openContext(flags, env)
  const { client, withToken } = connect(context)
  const { output, server } = context
  await withToken(async session => {
    const wanted = { name, scopes: scope, expiresInDays: days }
    const { token, ...made } = await client.createToken(session, wanted)
    output.note(`${describe(made)}; this is the only time it is shown`)
    // Revealed here alone: a pipeline reads it from stdout.
    const json = { registry: server.url, ...viewJson(made), token: token.reveal() }
    await output.secret(token.reveal(), json)
  })
}

export async function listTokens(flags: AccountFlags, env: NodeJS.ProcessEnv): Promise<void> {
  const context = await openContext(flags, env)
  const { client, withToken } = connect(context)
  const tokens = await withToken(session => client.listTokens(session))
  const { output, server } = context
  const width = terminalWidth(process.stdout)
  const lines = tokens.flatMap(token => wrapWords(describe(token), width, '', '  '))
  await output.result(lines.join('\n'), { registry: server.url, tokens: tokens.map(viewJson) })
  if (tokens.length === 0) output.note(`the account has no service tokens at ${server.url}`)
}

/** Prints the token that commands use, refreshed when that is due. */
export async function printToken(flags: AccountFlags, env: NodeJS.ProcessEnv): Promise<void> {
  const context = await openContext(flags, env)
  const { output, server, choice } = context
  const token = await connect(context).withToken(async used => used)
  // Revealed here alone: a script reads it from stdout.
  await output.result(token.reveal(), {
    registry: server.url,
    source: choice?.source ?? null,
    source_name: choice?.name ?? null,
    token: token.reveal(),
  })
}

/** By id or name. Of several with the name the newest, on a terminal after a question. */
export async function revokeToken(
  idOrName: string,
  flags: AccountFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const context = await openContext(flags, env)
  const { client, withToken } = connect(context)
  const { meant, older } = await withToken(async session => {
    const found = findToken(await client.listTokens(session), idOrName)
    if (found.older.length > 0) await confirmNewest(found, promptPlace(flags))
    await client.revokeToken(session, found.meant.id)
    return found
  })
  const { output, server } = context
  const { id, name } = meant
  await output.result('', { registry: server.url, id, name, revoked: true, older: older.length })
  output.note(`token "${name}" (${id}) is revoked`)
  if (older.length > 0) {
    output.note(`still valid with that name: ${older.map(token => token.id).join(', ')}`)
  }
}

interface FoundToken {
  readonly meant: TokenView
  /** Others of the same name, newest first. */
  readonly older: readonly TokenView[]
}

/** Returns the token with the id, else the newest with the name. Throws `request_refused`. */
export function findToken(tokens: TokenView[], idOrName: string): FoundToken {
  const byId = tokens.find(({ id }) => id === idOrName)
  if (byId !== undefined) return { meant: byId, older: [] }
  const madeAt = ({ created_at }: TokenView): number => parseTime(created_at) ?? 0
  const [meant, ...older] = tokens
    .filter(({ name }) => name === idOrName)
    .toSorted((one, other) => madeAt(other) - madeAt(one))
  if (meant !== undefined) return { meant, older }
  // Not repeated: it may be the token itself.
  throw new ServiceError('request_refused', 'the account has no service token of that name or id', {
    hint: 'service-cli token list shows them',
  })
}

async function confirmNewest({ meant, older }: FoundToken, place: PromptTerminal): Promise<void> {
  if (whyNoQuestions(place) !== null) return
  const ask = requireQuestioner(place, 'the confirmation', 'name the token by its id')
  const count = older.length + 1
  const made = meant.created_at === undefined ? '' : `, created ${meant.created_at}`
  const question = `${count} tokens are named "${meant.name}". Revoke the newest (${meant.id}${made})?`
  if (await ask.askYes(question)) return
  throw usage(
    'nothing was revoked',
    `name one by its id: ${[meant, ...older].map(({ id }) => id).join(', ')}`,
  )
}

function describe(token: TokenView): string {
  const nowMs = Date.now()
  const expiresAtMs = parseTime(token.expires_at)
  const usedAtMs = parseTime(token.last_used_at)
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
