import { type Output, processOutput, warningsTo } from '../../lib/cli/output.ts'
import type { PromptTerminal } from '../../lib/cli/prompt.ts'
import type { Config, SavedLogin } from '../../lib/config/config-file.ts'
import { type ConfigStore, createConfigStore } from '../../lib/config/config-store.ts'
import { configPath } from '../../lib/config/paths.ts'
import { onlyLogin, savedLogin } from '../../lib/config/saved-logins.ts'
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

/** Throws `usage_invalid` for an invalid address, `config_invalid` for an invalid file. */
export async function openContext(
  flags: AccountFlags,
  env: NodeJS.ProcessEnv,
): Promise<AccountContext> {
  const { json = false, quiet = false } = flags
  const output = processOutput({ json, quiet })
  const log = warningsTo(output)
  const store = createConfigStore({ path: configPath(env), log })
  const given = {
    option: flags.token,
    variable: env.SERVICE_TOKEN,
    tokenFile: env.SERVICE_TOKEN_FILE,
    configPath: store.path,
  }
  const isGiven = selectTokenSource({ ...given, inConfig: false }) !== null
  const config = await (isGiven ? store.readSettings() : store.read())
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

/** Whether the user can be asked on the streams of this process. */
export function promptPlace(flags: AccountFlags): PromptTerminal {
  return {
    stdinIsTTY: process.stdin.isTTY === true,
    stderrIsTTY: process.stderr.isTTY === true,
    noInput: flags['no-input'] === true,
  }
}
