import { parseTime } from '../../lib/util/time.ts'
import { columns } from '../../lib/cli/format.ts'
import { durationText, expiryText } from '../../lib/util/amounts.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import type { SessionView } from '../../lib/accounts/answers.ts'
import { connect } from './connect.ts'
import { type AccountFlags, openContext } from './context.ts'

export async function listSessions(flags: AccountFlags, env: NodeJS.ProcessEnv): Promise<void> {
  const context = await openContext(flags, env)
  const { client, withToken } = connect(context)
  const sessions = await withToken(token => client.listSessions(token))
  const { output, server } = context
  const nowMs = Date.now()
  const rows = sessions.map(session => [
    session.id,
    `${clientOf(session)}${session.current ? ' (this one)' : ''}`,
    session.address ?? '',
    usedText(session, nowMs),
    endText(session, nowMs),
  ])
  const table = columns(['ID', 'CLIENT', 'ADDRESS', 'LAST USED', 'END'], rows, {
    drop: ['ADDRESS', 'END', 'LAST USED'],
  })
  await output.result(sessions.length === 0 ? '' : table, {
    registry: server.url,
    sessions: sessions.map(sessionJson),
  })
  if (sessions.length === 0) output.note(`the account has no login at ${server.url}`)
}

/** By id, or by the beginning of one. The login in use ends with `logout`. */
export async function endSession(
  idOrPrefix: string,
  flags: AccountFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const context = await openContext(flags, env)
  const { client, withToken } = connect(context)
  const ended = await withToken(async token => {
    const meant = findSession(await client.listSessions(token), idOrPrefix)
    await client.endSession(token, meant.id)
    return meant
  })
  const { output, server } = context
  await output.result('', { registry: server.url, id: ended.id, ended: true })
  output.note(`the login of ${clientOf(ended)} (${ended.id}) has ended`)
}

const minPrefixChars = 4

/** Throws `request_refused` for no session, `usage_invalid` for several or the one in use. */
function findSession(sessions: SessionView[], idOrPrefix: string): SessionView {
  const wanted = idOrPrefix.toLowerCase()
  const found = sessions.filter(
    ({ id }) => id === wanted || (wanted.length >= minPrefixChars && id.startsWith(wanted)),
  )
  const [meant] = found
  if (meant === undefined) {
    // Not repeated: it may be a token.
    throw new ServiceError('request_refused', 'the account has no login with that id', {
      hint: `service-cli sessions list shows them; at least ${minPrefixChars} characters of an id are enough`,
    })
  }
  if (found.length > 1) {
    throw usage(
      `${found.length} logins match that id`,
      `name one of ${found.map(({ id }) => id).join(', ')}`,
    )
  }
  if (!meant.current) return meant
  throw usage('cannot end the login in use', 'end it with service-cli logout')
}

function clientOf({ user_agent: agent }: SessionView): string {
  return agent ?? 'an unknown program'
}

function usedText({ last_used_at, created_at }: SessionView, nowMs: number): string {
  const usedMs = parseTime(last_used_at) ?? parseTime(created_at)
  return usedMs === undefined ? '' : `${durationText(nowMs - usedMs)} ago`
}

function endText({ expires_at }: SessionView, nowMs: number): string {
  const endMs = parseTime(expires_at)
  return endMs === undefined ? '' : expiryText(endMs, nowMs, 'end')
}

function sessionJson(session: SessionView): Record<string, unknown> {
  return {
    id: session.id,
    created_at: session.created_at ?? null,
    last_used_at: session.last_used_at ?? null,
    expires_at: session.expires_at ?? null,
    client: session.user_agent ?? null,
    address: session.address ?? null,
    current: session.current,
  }
}
