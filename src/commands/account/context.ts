import { type Output, processOutput, warningsTo } from '../../lib/cli/output.ts'
import type { PromptTerminal } from '../../lib/cli/prompt.ts'
import { type Config, type SavedLogin, emptyConfig } from '../../lib/config/config-file.ts'
import { type ConfigStore, createConfigStore } from '../../lib/config/config-store.ts'
import { configPath } from '../../lib/config/paths.ts'
import { onlyLogin, savedLogin } from '../../lib/config/saved-logins.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { AccountsUrl } from '../../lib/config/accounts-url.ts'
import { selectAccountsServer } from '../../lib/accounts/select-server.ts'
import {
  selectTokenSource,
  type TokenChoice,
  type TokenPlaces,
} from '../../lib/accounts/token-source.ts'

/** The flags of every command of a user with an account. */
export interface AccountFlags {
  readonly registry?: string
  readonly token?: string
  readonly 'no-input'?: boolean
  readonly json?: boolean
  readonly quiet?: boolean
}

/** What is known before anything is sent: which server, which token, what is saved. */
export interface AccountContext {
  readonly server: AccountsUrl
  readonly store: ConfigStore
  readonly config: Config
  /** The saved login that is used, or would be. */
  readonly login: SavedLogin | undefined
  readonly places: TokenPlaces
  /** Where the token comes from; null when there is none. */
  readonly choice: TokenChoice | null
  readonly env: NodeJS.ProcessEnv
  readonly output: Output
  readonly log: Logger
}

/**
 * Throws `usage_invalid` for an invalid address, `config_invalid` for an invalid file where it is
 * needed: with `savesLogin`, or when no token is given.
 */
export async function openContext(
  flags: AccountFlags,
  env: NodeJS.ProcessEnv,
  { savesLogin = false } = {},
): Promise<AccountContext> {
  const { json = false, quiet = false } = flags
  const output = processOutput({ json, quiet })
  const log = warningsTo(output)
  const given = {
    option: flags.token,
    variable: env.SERVICE_TOKEN,
    tokenFile: env.SERVICE_TOKEN_FILE,
    configPath: '',
  }
  const isGiven = selectTokenSource({ ...given, inConfig: false }) !== null
  const needsFile = savesLogin || !isGiven
  given.configPath = userPath(env, needsFile)
  const store = createConfigStore({ path: given.configPath, log })
  const config = needsFile
    ? await store.read()
    : await readSettings(given.configPath, store, output)
  const server = selectAccountsServer({
    option: flags.registry,
    variable: env.SERVICE_REGISTRY,
    file: config.defaultServer,
    onlyLogin: onlyLogin(config),
    filePath: store.path,
  })
  const login = savedLogin(config, server.url)
  const places: TokenPlaces = { ...given, inConfig: login?.accessToken !== undefined }
  return {
    server,
    store,
    config,
    login,
    places,
    choice: selectTokenSource(places),
    env,
    output,
    log,
  }
}

/** Empty for a user without a home folder, where no file is needed. */
function userPath(env: NodeJS.ProcessEnv, isNeeded: boolean): string {
  try {
    return configPath(env)
  } catch (error) {
    if (isNeeded) throw error
    return ''
  }
}

/** A given token needs no file: one that cannot be used is named in a warning. */
async function readSettings(path: string, store: ConfigStore, output: Output): Promise<Config> {
  if (path === '') return emptyConfig
  try {
    return await store.readSettings()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    output.warn(`${error.message}; its settings are not used`)
    return emptyConfig
  }
}

/** Whether the user can be asked on the streams of this process. */
export function promptPlace(flags: AccountFlags): PromptTerminal {
  return {
    stdinIsTTY: process.stdin.isTTY === true,
    stderrIsTTY: process.stderr.isTTY === true,
    noInput: flags['no-input'] === true,
  }
}
