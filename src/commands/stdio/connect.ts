import type { LogLevel } from '../server-flags.ts'
import { type Logger, silentLogger } from '../../lib/util/logger.ts'
import { type Endpoint, type EndpointFlags, findEndpoint } from '../find-endpoint.ts'
import { rootsOnly } from '../running-gateway.ts'
import { openStdio } from './open-stdio.ts'

/**
 * Finds the endpoint. Throws `usage_invalid`, `config_invalid` or, when no instance runs,
 * `network_failed`.
 */
export async function readConnectSettings(
  word: string | undefined,
  flags: EndpointFlags,
  env: NodeJS.ProcessEnv,
  log: Logger = silentLogger,
): Promise<Endpoint> {
  return findEndpoint(word, flags, env, {
    log,
    naming: 'service-cli connect ID, or all of them: service-cli connect gateway',
  })
}

/** Bridges stdio and the endpoint until the client ends. */
export async function runConnect(
  word: string | undefined,
  flags: EndpointFlags & { level: LogLevel },
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const stdio = openStdio(flags.level)
  try {
    const { locate, found, key } = await readConnectSettings(word, flags, env, stdio.log)
    stdio.log.info(found, 'messages on stdin go to the endpoint')
    if (found.aggregate === false) stdio.log.warn({}, rootsOnly)
    await stdio.bridge({ locate, key, env })
  } finally {
    await stdio.close()
  }
  stdio.leave()
}
