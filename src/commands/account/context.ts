import { type Output, warningsTo } from '../../lib/cli/output.ts'
import { type Config, type RegistryEntry } from '../../lib/config/config-file.ts'
import { type ConfigStore, createConfigStore } from '../../lib/config/config-store.ts'
import { configPath } from '../../lib/config/paths.ts'
import { onlyLogin } from '../../lib/config/registry-entries.ts'
import type { Logger } from '../../lib/logger.ts'
import type { RegistryUrl } from '../../lib/registry-url.ts'
import { selectRegistry } from '../../lib/registry/select-registry.ts'
import {
  type TokenChoice,
  type TokenPlaces,
  selectTokenSource,
} from '../../lib/registry/token-source.ts'

/** The flags that every command of a person with an account has. */
export interface AccountFlags {
  readonly registry?: string | undefined
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
  /** What is saved of the registry. */
  readonly entry: RegistryEntry | undefined
  readonly places: TokenPlaces
  /** Where the token comes from; null when there is none. */
  readonly choice: TokenChoice | null
  readonly env: NodeJS.ProcessEnv
  readonly output: Output
  readonly log: Logger
}

/** Throws `usage_invalid` for an address that is none, `config_invalid` for a file that is none. */
export async function openContext(
  flags: AccountFlags,
  env: NodeJS.ProcessEnv,
  output: Output,
): Promise<AccountContext> {
  const log = warningsTo(output)
  const store = createConfigStore({ path: configPath(env), log })
  const config = await store.read()
  const { registry } = selectRegistry({
    option: flags.registry,
    variable: env.SERVICE_REGISTRY,
    file: config.defaultRegistry,
    onlyLogin: onlyLogin(config),
    filePath: store.path,
  })
  const entry = config.registries.get(registry.url)
  const places: TokenPlaces = {
    option: flags.token,
    variable: env.SERVICE_TOKEN,
    tokenFile: env.SERVICE_TOKEN_FILE,
    inConfig: entry?.accessToken !== undefined,
    configPath: store.path,
  }
  const choice = selectTokenSource(places)
  return { registry, store, config, entry, places, choice, env, output, log }
}
