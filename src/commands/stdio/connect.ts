import type { LogLevel } from '../../lib/cli/log-level.ts'
import { type Logger, silentLogger } from '../../lib/util/logger.ts'
import type { BridgeLimits } from '../../lib/mcp/bridge/limits.ts'
import { type Endpoint, type EndpointFlags, findEndpoint } from '../find-endpoint.ts'
import { readBridgeLimits } from './bridge-limits.ts'
import { openStdio } from './open-stdio.ts'

/** The flags of `connect` as the parser returns them. */
export interface ConnectFlags extends EndpointFlags {
  limit?: string[] | undefined
}

export interface ConnectSettings extends Endpoint {
  readonly limits: BridgeLimits
}

/**
 * Finds what is meant and checks that it may be used. Throws `usage_invalid`, `config_invalid` or,
 * when nothing is running, `network_failed`.
 */
export async function readConnectSettings(
  word: string | undefined,
  flags: ConnectFlags,
  env: NodeJS.ProcessEnv,
  log: Logger = silentLogger,
): Promise<ConnectSettings> {
  const limits = readBridgeLimits(flags.limit ?? [])
  return {
    ...(await findEndpoint(word, flags, env, { log, naming: 'service-cli connect ID' })),
    limits,
  }
}

/** Bridges stdio and the endpoint until the client is done. */
export async function runConnect(
  word: string | undefined,
  flags: ConnectFlags & { level: LogLevel },
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const stdio = openStdio(flags.level)
  try {
    const { locate, found, key, limits } = await readConnectSettings(word, flags, env, stdio.log)
    stdio.log.info(found, 'messages on stdin go to the endpoint')
    await stdio.bridge({ locate, key, limits, env })
  } finally {
    await stdio.close()
  }
  stdio.leave()
}
