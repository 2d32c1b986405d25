import { exitCodeOf } from '../../lib/cli/exit-codes.ts'
import type { SavedLogin } from '../../lib/config/config-file.ts'
import { liveLogins, savedLogin } from '../../lib/config/saved-logins.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import { requireRegistryUrl } from '../../lib/util/registry-url.ts'
import type { AccountContext } from './context.ts'
import { openHere } from './here.ts'
import { type Identity, identityJson, identityText } from './identity.ts'
import { askedIdentity, savedIdentity, type WhoamiFlags } from './whoami.ts'

interface Row {
  readonly identity: Identity | null
  readonly url: string
  readonly login: SavedLogin
  readonly isDefault: boolean
  readonly error: ServiceError | null
}

/** Shows every saved login of every registry. The exit code is that of the first failure. */
export async function whoamiAll(flags: WhoamiFlags, env: NodeJS.ProcessEnv): Promise<number> {
  if ((flags.token ?? flags.account ?? flags.registry) !== undefined) {
    throw usage(
      '--all cannot be combined with --token, --account or --registry',
      'it shows every saved login',
    )
  }
  // The saved logins, whatever token or registry the environment names.
  const { SERVICE_TOKEN, SERVICE_TOKEN_FILE, SERVICE_REGISTRY, ...rest } = env
  const context = await openHere(flags, rest)
  const { config, output } = context
  const used = savedLogin(config, context.registry.url)
  const asked = Array.from(config.registries.keys()).flatMap(url =>
    liveLogins(config, url).map(login => {
      return showLogin(context, { url, login, isDefault: login === used }, flags.offline === true)
    }),
  )
  const rows = await Promise.all(asked)
  const text = rows.map(row => rowText(row, flags.quiet === true)).join('\n\n')
  await output.result(text, { logins: rows.map(rowJson) })
  if (rows.length === 0) output.note(`no login is saved in ${context.store.path}`)
  const failed = rows.find(({ error }) => error !== null)?.error
  return failed === undefined || failed === null ? 0 : exitCodeOf[failed.code]
}

async function showLogin(
  context: AccountContext,
  found: Pick<Row, 'url' | 'login' | 'isDefault'>,
  offline: boolean,
): Promise<Row> {
  const choice = { source: 'config', name: context.store.path } as const
  const { login } = found
  let identity: Identity | null = null
  try {
    const registry = requireRegistryUrl(found.url, context.store.path)
    const one = {
      ...context,
      registry,
      login,
      account: login.username,
      endedAccount: undefined,
      choice,
    }
    if (login.username !== undefined) identity = savedIdentity(one)
    if (!offline) identity = await askedIdentity(one, choice)
    return { ...found, identity, error: null }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return { ...found, identity, error }
  }
}

function rowText({ identity, url, isDefault, error }: Row, brief: boolean): string {
  const text = identity === null ? `registry: ${url}` : identityText(identity, Date.now(), brief)
  const lines = [text]
  if (brief && identity !== null) lines.push(`registry: ${url}`)
  if (isDefault) lines.push('default:  yes')
  if (error !== null) lines.push(`error:    ${error.message}`)
  return lines.join('\n')
}

function rowJson({ identity, url, isDefault, error }: Row): Record<string, unknown> {
  return {
    ...(identity === null ? { registry: url } : identityJson(identity)),
    default: isDefault,
    error: error === null ? null : { code: error.code, message: error.message, hint: error.hint },
  }
}
