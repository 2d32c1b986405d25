import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Logger, silentLogger } from '../../../src/lib/util/logger.ts'
import type { GatewayHandle, GatewayOptions } from '../../../src/server/gateway/options.ts'
import { startGateway } from '../../../src/server/gateway.ts'
import type { ServeHandle, ServeOptions } from '../../../src/server/host/serve-options.ts'
import { startServe } from '../../../src/server/serve.ts'

/** Servers and gateways on one state directory; after each test they stop and it is removed. */
export function useGateways() {
  let registryDir = ''
  const started = new Set<{ stop(): Promise<void> }>()

  beforeEach(async () => (registryDir = await mkdtemp(join(tmpdir(), 'gateway-'))))
  afterEach(async () => {
    await Promise.all([...started].map(handle => handle.stop()))
    started.clear()
    await rm(registryDir, { recursive: true, force: true })
  })

  const common = () => ({
    host: '127.0.0.1',
    allowedHosts: [],
    allowedOrigins: [],
    registryDir,
    accessLog: () => {},
    log: silentLogger,
  })

  return {
    stateDir: () => registryDir,
    files: async () => (await readdir(registryDir)).toSorted(),

    async start(
      options: Partial<GatewayOptions> = {},
      cancelled?: AbortSignal,
    ): Promise<GatewayHandle> {
      const rules = { standby: true, port: 0 }
      const handle = await startGateway({ ...common(), ...rules, ...options }, cancelled)
      started.add(handle)
      return handle
    },

    async serve(options: Partial<ServeOptions>): Promise<ServeHandle> {
      const kind = { port: 0, dccType: 'maya', artefacts: false, resources: true }
      const handle = await startServe({ ...common(), ...kind, ...options })
      started.add(handle)
      return handle
    },

    async stop(handle: { stop(): Promise<void> }): Promise<void> {
      await handle.stop()
      started.delete(handle)
    },
  }
}

export const keyed = {
  mode: 'api-key',
  key: 'the-key-of-clients',
  keysFile: '/none/keys.json',
} as const

export const baseOf = ({ url }: { url: string }) => url.slice(0, -'/mcp'.length)

export function createMemoryLog(): Logger & { lines: { event?: unknown }[] } {
  const lines: { event?: unknown }[] = []
  const add = (fields: object): void => void lines.push(fields)
  return { lines, debug: () => {}, info: add, warn: add, error: add }
}
