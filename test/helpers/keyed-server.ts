import { join } from 'node:path'
import { artefactPutBytes } from '../../src/index.ts'
import { type Clock, systemTimer } from '../../src/lib/util/time.ts'
import { generateApiKey } from '../../src/lib/auth/api-key-config.ts'
import { addClientKey, type ClientKey, updateClientKeys } from '../../src/lib/auth/client-keys.ts'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { createAuth } from '../../src/server/auth/auth.ts'
import { FailureLimit } from '../../src/server/auth/failure-limit.ts'
import type { McpHttpConfig } from '../../src/server/mcp-http-config.ts'
import { AuditLog } from '../../src/server/resources/audit-log.ts'
import { SessionEventBuffer } from '../../src/server/resources/session-event-buffer.ts'
import { newFolder, stoppedAtEnd } from './cleanup.ts'
import { startServer } from './mcp.ts'

/** A key that no server knows. */
export function newKey(): string {
  return `smk_${generateApiKey()}`
}

export type TestKeys = Awaited<ReturnType<typeof makeKeys>>

/** Keys of an account of their own. */
export async function makeKeys() {
  const folder = newFolder()
  const path = join(folder, 'service-cli', 'client-keys.json')
  return {
    /** Its XDG_CONFIG_HOME, and what else a test puts there. */
    folder,
    /** The keys file. */
    path,
    async create(name: string, { scope = 'write', expires_at }: Partial<ClientKey> = {}) {
      return (await addClientKey(path, { name, scope, expires_at })).key
    },
    revoke: (name: string) =>
      updateClientKeys(path, ({ keys }) => ({ keys: keys.filter(key => key.name !== name) })),
    off: () => updateClientKeys(path, () => ({ open: true, keys: [] })),
    remove: async () => {},
  }
}

export type KeyedServer = Awaited<ReturnType<typeof startKeyedServer>>

/**
 * A server in mode `api-key` on these keys, or one that is open until there are any, with everything
 * a client can read or change.
 */
export async function startKeyedServer(
  keys: TestKeys,
  {
    key,
    mode = 'api-key',
    maxFailures = 10_000,
    config = {},
    clock,
  }: {
    key?: string
    mode?: 'none' | 'api-key'
    maxFailures?: number
    config?: McpHttpConfig
    /** Of all but the keys. */
    clock?: Clock
  } = {},
) {
  const auth = await createAuth(
    { mode, keysFile: keys.path, ...(key !== undefined && { key }) },
    {
      mcpUrl: () => '',
      failures: new FailureLimit(maxFailures),
      // Twenty times as fast, for the tests of what happens without a request.
      timer: { after: (delayMs, run) => systemTimer.after(delayMs / 20, run) },
      log: silentLogger,
    },
  )
  const audit = new AuditLog()
  const events = new SessionEventBuffer({ sessionId: 's' })
  const whole = { enableArtefactResources: true, registryDir: keys.folder, ...config }
  const running = await startServer(
    whole,
    { auth: auth.policy, ...(clock && { clock }) },
    server => {
      server.resources().wireAuditLog(audit)
      server.resources().registerSessionEventBuffer(events)
    },
  )
  return {
    url: running.url,
    base: running.base,
    audit,
    /** Of `events://session/s`. */
    events,
    setScene: (scene: object) => void running.server.resources().setScene(scene),
    /** Stores an artefact; returns its hash. */
    async store(text: string) {
      const root = join(keys.folder, 'dcc-mcp-artefacts')
      return (await artefactPutBytes(Buffer.from(text), { root })).uri.slice(-64)
    },
    stop: stoppedAtEnd(async () => {
      await running.stop()
      await auth.close()
    }),
  }
}

export function bearer(key: string): Record<string, string> {
  return { Authorization: `Bearer ${key}` }
}
