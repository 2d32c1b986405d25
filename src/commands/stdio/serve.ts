import { join } from 'node:path'
import type { LogLevel } from '../server-flags.ts'
import { ensurePrivateFolder, withFileLock } from '../../lib/config/private-file.ts'
import { liveInstances } from '../../lib/instances/live-instances.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { selectStateDirectory } from '../../lib/config/paths.ts'
import { repeat, systemTimer } from '../../lib/util/time.ts'
import { Secret } from '../../lib/util/secret.ts'
import { defaultBridgeLimits } from '../../lib/mcp/bridge/limits.ts'
import type { ServeHandle } from '../../server/host/serve-options.ts'
import type { ServeSettings } from '../serve-settings.ts'
import { JoinOrServe } from './join-or-serve.ts'
import { openStdio, type Stdio } from './open-stdio.ts'

export interface ServeStdioSettings {
  /** The settings of an embedded server. */
  readonly serve: ServeSettings
  /** The kind of server to join; undefined for any. */
  readonly dccType: string | undefined
  /** Flags that have no effect when joining a running server. */
  readonly ownOnly: readonly string[]
  readonly level: LogLevel
}

/** How often to check whether the replaced server is back; the gateway's scan interval. */
const handBackMs = 2000

/** Joins the running server of the user, or starts one, for one client on stdio. */
export async function runServeStdio(
  settings: ServeStdioSettings,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const { serve } = settings
  const stdio = openStdio(settings.level)
  const place = createPlace(settings, stdio, env)
  let stopChecking = (): void => {}
  try {
    await place.open()
    const key = keyOf(serve)
    const onMoved = (moved: () => void): void =>
      void (stopChecking = repeat(systemTimer, handBackMs, () => place.handBack(moved)))
    const bridged = stdio.bridge({ locate: place.locate, onMoved, key, env })
    await Promise.race([bridged, place.broken])
  } catch (error) {
    // A signal during the start is not an error.
    if (!stdio.stop.aborted) throw error
  } finally {
    stopChecking()
    await place.stop()
    await stdio.close()
  }
  stdio.leave()
}

/** The configured key, sent to the server. */
function keyOf({ auth }: ServeSettings): Secret | null {
  return auth?.mode === 'api-key' && auth.key !== undefined ? new Secret(auth.key) : null
}

function createPlace(
  { serve, dccType, ownOnly }: ServeStdioSettings,
  { log, stop }: Stdio,
  env: NodeJS.ProcessEnv,
): JoinOrServe {
  const registryDir = selectStateDirectory(serve.registryDir, env)
  return new JoinOrServe({
    dccType,
    live: () => liveInstances({ registryDir, log, nowMs: Date.now() }),
    locked: work => withLock(registryDir, log, work),
    async start() {
      const { startServe } = await import('../../server/serve.ts')
      return startServe({ ...serve, log, accessLog: log.access }, stop)
    },
    joined({ url, id, dccType: kind, displayName: name }) {
      log.info({ url, instance: id, dcc_type: kind, name }, 'joined the running server')
      if (ownOnly.length === 0) return
      log.warn(
        { flags: ownOnly.join(' ') },
        'these flags have no effect: the server was already running',
      )
    },
    started: server => log.info(factsOf(server), 'started a server that ends with this client'),
    now: Date.now,
    random: Math.random,
    takeoverMs: defaultBridgeLimits.takeoverMs,
  })
}

function factsOf({ url, instanceId, hostUrl, hostTokenFile }: ServeHandle): object {
  return { url, instance: instanceId, host_url: hostUrl, host_token_file: hostTokenFile }
}

/** Runs `work` under a lock, or without it when locking fails: at worst two servers start. */
async function withLock<T>(folder: string, log: Logger, work: () => Promise<T>): Promise<T> {
  await ensurePrivateFolder(folder)
  let hasBegun = false
  const begin = (): Promise<T> => {
    hasBegun = true
    return work()
  }
  try {
    return await withFileLock(join(folder, 'stdio.lock'), begin)
  } catch (error) {
    if (hasBegun) throw error
    log.debug({ err: error }, 'cannot take the lock')
    return work()
  }
}
