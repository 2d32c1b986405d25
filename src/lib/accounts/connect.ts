import { dirname, resolve } from 'node:path'
import type { Clock } from '../util/time.ts'
import type { Logger } from '../util/logger.ts'
import type { ServerEntry } from '../config/config-file.ts'
import { type AccountsClient, createAccountsClient } from './client.ts'
import { defaultClientLimits } from './client-limits.ts'
import type { AccountsUrl } from '../config/accounts-url.ts'
import { createTransport } from './transport.ts'

/**
 * The client of one accounts server as environment and configuration say: the proxy variables, `ca_file` (relative to the configuration file). Nothing is sent yet. Throws
 * `usage_invalid`.
 */
export function connectAccounts(options: {
  server: AccountsUrl
  /** What is saved for this server, if anything. */
  entry: ServerEntry | undefined
  configPath: string
  env: Record<string, string | undefined>
  clock?: Clock
  log?: Logger
}): AccountsClient {
  const { server, entry, configPath, env, clock, log } = options
  const caFile =
    entry?.caFile === undefined ? undefined : resolve(dirname(configPath), entry.caFile)
  const timing = clock === undefined ? {} : { clock }
  const transport = createTransport({
    server,
    limits: defaultClientLimits,
    env,
    caFile,
    log,
    ...timing,
  })
  return createAccountsClient(transport, clock)
}
