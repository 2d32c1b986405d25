import { describeFailure } from '../../lib/cli/failure.ts'
import { exitCodeOf } from '../../lib/cli/exit-codes.ts'
import { savedLogin } from '../../lib/config/saved-logins.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { readJwtExpiry } from '../../lib/accounts/refresh-need.ts'
import type { TokenChoice } from '../../lib/accounts/token-source.ts'
import type { Me } from '../../lib/accounts/answers.ts'
import type { Secret } from '../../lib/util/secret.ts'
import type { AccountContext, AccountFlags } from './context.ts'
import { openHere } from './here.ts'
import { type Identity, identityJson, identityText, timeOf } from './identity.ts'

export interface WhoamiFlags extends AccountFlags {
  readonly offline?: boolean | undefined
  readonly all?: boolean | undefined
}

/** Returns the exit code: an identity that could not be verified is shown, and is no success. */
export async function whoami(flags: WhoamiFlags, env: NodeJS.ProcessEnv): Promise<number> {
  const { json = false, quiet = false } = flags
  if (flags.all === true) return (await import('./whoami-all.ts')).whoamiAll(flags, env)
  const context = await openHere(flags, env)
  const { choice } = context
  if (flags.offline === true) {
    await show(context, quiet, savedIdentity(context))
    return 0
  }
  if (choice === null) throw (await import('./connect.ts')).notLoggedIn(context)
  try {
    await show(context, quiet, await askedIdentity(context, choice))
    return 0
  } catch (error) {
    return showUnverified(context, { json, quiet }, error)
  }
}

export async function askedIdentity(
  context: AccountContext,
  choice: TokenChoice,
): Promise<Identity> {
  const { connect } = await import('./connect.ts')
  const { client, withToken } = connect(context)
  const { me, used } = await withToken(async token => ({
    me: await client.me(token),
    used: token,
  }))
  return verifiedIdentity(await latest(context), choice, me, used)
}

/** A refresh has changed what is saved. */
async function latest(context: AccountContext): Promise<AccountContext> {
  if (context.choice?.source !== 'config') return context
  const config = await context.store.read()
  return { ...context, config, login: savedLogin(config, context.registry.url, context.account) }
}

function verifiedIdentity(
  { registry, login }: AccountContext,
  { source, name }: TokenChoice,
  me: Me,
  used: Secret,
): Identity {
  const saved = source === 'config' ? login : undefined
  return {
    registry: registry.url,
    username: me.username,
    email: me.email,
    source,
    sourceName: name,
    verified: true,
    expiresAtMs:
      timeOf(me.token?.expires_at) ??
      saved?.accessExpiresAtMs ??
      readJwtExpiry(used.reveal()) ??
      undefined,
    loginEndsAtMs: saved?.refreshExpiresAtMs ?? timeOf(me.session?.expires_at),
    scopes: me.scopes,
    tokenName: me.token?.name,
  }
}

/** Throws `auth_required` when nobody is saved, `request_refused` when another token counts. */
export function savedIdentity({ registry, login, choice, store }: AccountContext): Identity {
  if (choice !== null && choice.source !== 'config') {
    throw new ServiceError('usage_invalid', `whose token ${choice.name} holds is not saved here`, {
      hint: 'leave --offline out to ask the registry',
    })
  }
  const username = login?.username
  if (choice === null || login === undefined || username === undefined) {
    throw new ServiceError('auth_required', `no login to ${registry.url} is saved`, {
      hint: `service-cli login --registry ${registry.url}`,
    })
  }
  return {
    registry: registry.url,
    username,
    email: login.email,
    source: 'config',
    sourceName: store.path,
    verified: false,
    expiresAtMs: login.accessExpiresAtMs,
    loginEndsAtMs: login.refreshExpiresAtMs,
    scopes: undefined,
    tokenName: undefined,
  }
}

/** Without the network the saved name is better than nothing, but it proves nothing. */
async function showUnverified(
  context: AccountContext,
  { json, quiet }: { json: boolean; quiet: boolean },
  error: unknown,
): Promise<number> {
  if (!(error instanceof ServiceError) || !isOfTheNetwork(error)) throw error
  if (context.choice?.source !== 'config' || context.login?.username === undefined) throw error
  const { code, message, hint } = error
  const identity = savedIdentity(context)
  await context.output.result(identityText(identity, Date.now(), quiet), {
    ...identityJson(identity),
    error: { code, message, hint },
  })
  if (!json) process.stderr.write(describeFailure(error, false).stderr)
  return exitCodeOf[code]
}

function isOfTheNetwork({ code }: ServiceError): boolean {
  return ['network_failed', 'net_timeout', 'tls_failed', 'proxy_failed'].includes(code)
}

async function show({ output }: AccountContext, brief: boolean, identity: Identity): Promise<void> {
  await output.result(identityText(identity, Date.now(), brief), identityJson(identity))
}
