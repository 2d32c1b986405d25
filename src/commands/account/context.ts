import { type Output, warningsTo } from '../../lib/cli/output.ts'
import type { Config, SavedLogin } from '../../lib/config/config-file.ts'
import { type ConfigStore, createConfigStore } from '../../lib/config/config-store.ts'
import { configPath } from '../../lib/config/paths.ts'
import { onlyLogin, savedLogin } from '../../lib/config/saved-logins.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { RegistryUrl } from '../../lib/util/registry-url.ts'
import { selectRegistry } from '../../lib/accounts/select-registry.ts'
import {
  selectTokenSource,
  type TokenChoice,
  type TokenPlaces,
} from '../../lib/accounts/token-source.ts'

/** The flags that every command of a person with an account has. */
export interface AccountFlags {
  readonly registry?: string | undefined
  readonly account?: string | undefined
  readonly token?: string | undefined
  readonly 'no-input'?: boolean | undefined
  readonly json?: boolean | undefined
  readonly quiet?: boolean | undefined
}

/** What is known before anything is sent: which registry, which token, what is saved. */
export interface AccountContext {
  readonly registry: RegistryUrl
  readonly store: ConfigStore
  readonly config: Config
  /** The saved login that is used, or would be. */
  readonly login: SavedLogin | undefined
  /** Its user name: the login stays the same when another command logs in meanwhile. */
  readonly account: string | undefined
  /** User name of the newest login there, when it has ended and `login` takes its place. */
  readonly endedAccount: string | undefined
  readonly places: TokenPlaces
  /** Where the token comes from; null when there is none. */
  readonly choice: TokenChoice | null
  readonly env: NodeJS.ProcessEnv
  readonly output: Output
  readonly log: Logger
}

/**
 * Throws `usage_invalid` for an invalid address, `config_invalid` for an invalid file, and
 * `auth_required` when `--account` names no saved login.
 */
export async function openContext(
  flags: AccountFlags,
  env: NodeJS.ProcessEnv,
  output: Output,
): Promise<AccountContext> {
  const log = warningsTo(output)
  const store = createConfigStore({ path: configPath(env), log })
  // A saved login that is named goes before a token that happens to be in the environment.
  const { account } = flags
  const given = {
    option: flags.token,
    variable: account === undefined ? env.SERVICE_TOKEN : undefined,
    tokenFile: account === undefined ? env.SERVICE_TOKEN_FILE : undefined,
    configPath: store.path,
  }
  const isGiven = selectTokenSource({ ...given, inConfig: false }) !== null
  if (isGiven && account !== undefined) {
    throw usage('--token and --account cannot be combined', '--account names a saved login')
  }
  const config = await (isGiven ? store.readSettings() : store.read())
  const { registry } = selectRegistry({
    option: flags.registry,
    variable: env.SERVICE_REGISTRY,
    file: config.defaultRegistry,
    onlyLogin: onlyLogin(config),
    filePath: store.path,
  })
  const newest = config.registries.get(registry.url)?.logins[0]
  const login = savedLogin(config, registry.url, account)
  if (account !== undefined && login?.accessToken === undefined) {
    throw new ServiceError(
      'auth_required',
      `no login of "${account}" to ${registry.url} is saved`,
      {
        hint: `log in with service-cli login ${account} --registry ${registry.url}`,
      },
    )
  }
  const places: TokenPlaces = { ...given, inConfig: login?.accessToken !== undefined }
  const choice = selectTokenSource(places)
  return {
    registry,
    store,
    config,
    login,
    account: login?.username,
    endedAccount: account === undefined && newest !== login ? newest?.username : undefined,
    places,
    choice,
    env,
    output,
    log,
  }
}
