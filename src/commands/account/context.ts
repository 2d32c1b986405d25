import { type Output, processOutput, warningsTo } from '../../lib/cli/output.ts'
import type { PromptTerminal } from '../../lib/cli/prompt.ts'
import type { Config, SavedLogin } from '../../lib/config/config-file.ts'
import { type ConfigStore, createConfigStore } from '../../lib/config/config-store.ts'
import { configPath } from '../../lib/config/paths.ts'
import { onlyLogin, savedLogin } from '../../lib/config/saved-logins.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
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
  readonly account?: string
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
): Promise<AccountContext> {
  const { account, json = false, quiet = false } = flags
  const output = processOutput({ json, quiet })
  const log = warningsTo(output)
  const store = createConfigStore({ path: configPath(env), log })
  // A saved login that is named goes before a token that happens to be in the environment.
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
  const server = selectAccountsServer({
    option: flags.registry,
    variable: env.SERVICE_REGISTRY,
    file: config.defaultServer,
    onlyLogin: onlyLogin(config),
    filePath: store.path,
  })
  const newest = config.servers.get(server.url)?.logins[0]
  const login = savedLogin(config, server.url, account)
  if (account !== undefined && login?.accessToken === undefined) {
    throw new ServiceError('auth_required', `no login of "${account}" to ${server.url} is saved`, {
      hint: `log in with service-cli login ${account} --registry ${server.url}`,
    })
  }
  const places: TokenPlaces = { ...given, inConfig: login?.accessToken !== undefined }
  return {
    server,
    store,
    config,
    login,
    account: login?.username,
    endedAccount: account === undefined && newest !== login ? newest?.username : undefined,
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

const toSave = 'to save a token, pipe it into service-cli login --token-stdin'
const tokenHints = {
  login: toSave,
  register: toSave,
  logout: 'logout ends the saved login; end a service token with token revoke',
  'password --reset-code': 'the code says that you may; leave --token out',
}

/** Throws `usage_invalid` for a command that uses neither a given token nor another login. */
export function refuseToken(
  { token, account }: AccountFlags,
  command: keyof typeof tokenHints,
): void {
  if (token !== undefined && token !== '') {
    throw usage(`${command} takes no --token`, tokenHints[command])
  }
  if (account === undefined || command === 'logout') return
  throw usage(`${command} takes no --account`, 'write the user name as the argument of the command')
}
