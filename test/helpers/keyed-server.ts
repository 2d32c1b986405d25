import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { artefactPutBytes } from '../../src/index.ts'
import { type Clock, monotonicClock, systemClock, systemTimer } from '../../src/lib/util/time.ts'
import { createKeyStore, type KeyStore } from '../../src/lib/config/key-store.ts'
import { keyDigest, type NamedKey, newKey } from '../../src/lib/auth/keys-file.ts'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { createAuth } from '../../src/server/auth/create-auth.ts'
import { type AuthLimits, resolveAuthLimits } from '../../src/server/auth/limits.ts'
import type { McpHttpConfig } from '../../src/server/mcp/mcp-http-config.ts'
import { AuditLog } from '../../src/server/resources/audit-log.ts'
import { SessionEventBuffer } from '../../src/server/resources/session-event-buffer.ts'
import { startServer } from './mcp.ts'

/** Keys of an account of their own. */
export interface TestKeys {
  /** Its XDG_CONFIG_HOME, and what else a test puts there. */
  readonly folder: string
  readonly store: KeyStore
  /** Returns the key. */
  create(name: string, other?: Partial<NamedKey>): Promise<string>
  revoke(name: string): Promise<void>
  remove(): Promise<void>
}

export async function makeKeys(): Promise<TestKeys> {
  const folder = await mkdtemp(join(tmpdir(), 'keys-'))
  const store = createKeyStore(join(folder, 'service-cli', 'keys.json'))
  return {
    folder,
    store,
    async create(name, other = {}) {
      const key = newKey()
      const entry: NamedKey = {
        name,
        sha256: keyDigest(key),
        scope: 'write',
        createdAt: new Date().toISOString(),
        expiresAt: null,
        ...other,
      }
      await store.update(keys => [...keys, entry])
      return key
    },
    revoke: name => store.update(keys => keys.filter(key => key.name !== name)),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

export interface KeyedServer {
  readonly url: string
  readonly base: string
  readonly audit: AuditLog
  /** Of `events://session/s`. */
  readonly events: SessionEventBuffer
  setScene(scene: object): void
  /** Stores an artefact; returns its hash. */
  store(text: string): Promise<string>
  stop(): Promise<void>
}

/**
 * A server in mode `api-key` on these keys, or one that is open until there are any, with everything
 * a client can read or change.
 */
export async function startKeyedServer(
  keys: TestKeys,
  {
    key,
    mode = 'api-key',
    limits = {},
    config = {},
    clock,
  }: {
    key?: string
    mode?: 'none' | 'api-key'
    limits?: Partial<AuthLimits>
    config?: McpHttpConfig
    /** Of all but the keys. */
    clock?: Clock
  } = {},
): Promise<KeyedServer> {
  const auth = await createAuth(
    { mode, keysFile: keys.store.path, ...(key !== undefined && { key }) },
    {
      mcpUrl: () => '',
      limits: resolveAuthLimits({ keysPollMs: 50, ...limits }),
      clock: systemClock,
      ticks: monotonicClock,
      timer: systemTimer,
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
    events,
    setScene: scene => void running.server.resources().setScene(scene),
    async store(text) {
      const root = join(keys.folder, 'dcc-mcp-artefacts')
      return (await artefactPutBytes(Buffer.from(text), { root })).uri.slice(-64)
    },
    async stop() {
      await running.stop()
      await auth.close()
    },
  }
}

export function bearer(key: string): Record<string, string> {
  return { Authorization: `Bearer ${key}` }
}
