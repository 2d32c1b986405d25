import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { systemClock, toRfc3339 } from '../lib/clock.ts'
import { createFsStore } from './artefacts/fs-store.ts'
import { artefactRootIn } from './artefacts/helpers.ts'
import type { ArtefactStore } from './artefacts/store.ts'
import type { HostSink } from './host/host-sink.ts'
import { resolveHostToken, tokenFile } from './host/host-token.ts'
import { InstanceFile } from './host/instance-record.ts'
import { removeLeftovers } from './host/leftovers.ts'
import { processStart } from './host/process-start.ts'
import { createHostRoutes } from './host/routes.ts'
import { watchSceneFile } from './host/scene-file.ts'
import { apiKeyPolicy } from './http/authentication.ts'
import { localBase, McpHttpServer } from './mcp-http-server.ts'
import { type Limits, type McpHttpConfig, resolveLimits } from './options.ts'
import { openRegistryDir, selectRegistryDir } from './registry-dir.ts'
import { AuditLog } from './resources/audit-log.ts'
import type { ResourceRegistry } from './resources/registry.ts'
import { SessionEventBuffer } from './resources/session-event-buffer.ts'
import type { ServeHandle, ServeOptions } from './serve-options.ts'

/**
 * The main job: one server beside one application. Opens the registry folder, the artefact store
 * and the host link, binds, and announces itself to adapters and gateways by an instance record.
 */
export async function startServe(options: ServeOptions): Promise<ServeHandle> {
  const { log } = options
  const limits = resolveLimits(options.limits)
  const instanceId = randomUUID()
  const registryDir = await openRegistryDir(selectRegistryDir(options.registryDir, process.env))
  const instancesDir = registryDir.instances
  await removeLeftovers({ instancesDir, hostname: hostname(), clock: systemClock, log })

  const store = options.artefacts
    ? await createFsStore({
        root: artefactRootIn(registryDir.path),
        limits,
        clock: systemClock,
        log,
      })
    : null
  const token = await resolveHostToken({
    file: options.hostTokenFile,
    env: options.hostTokenEnv,
    instancesDir,
    instanceId,
  })
  const audit = new AuditLog({ limits })
  const server = new McpHttpServer(toConfig(options), {
    log,
    accessLog: options.accessLog,
    ...(options.apiKey === undefined ? {} : { auth: apiKeyPolicy(options.apiKey) }),
    ...(store === null ? {} : { store }),
    host: ({ registry, onRefused }) =>
      createHostRoutes({
        sink: createSink(registry, audit, store, limits),
        token: token.secret,
        limits,
        log,
        onRefused,
      }),
  })
  const registry = server.resources()
  registry.wireAuditLog(audit)

  const { url, port } = await server.start().catch(async (error: unknown) => {
    // Nothing of a server that never ran stays behind, least of all a token.
    await rm(tokenFile(instancesDir, instanceId), { force: true })
    await server.stop()
    await store?.close()
    throw error
  })
  const hostUrl = `${localBase(options.host, port)}/host`
  const record = new InstanceFile({
    instancesDir,
    heartbeatMs: limits.heartbeatMs,
    log,
    record: {
      schema_version: 1,
      instance_id: instanceId,
      dcc_type: options.dccType,
      display_name: options.name ?? `${options.dccType} on ${hostname()}`,
      pid: process.pid,
      pid_start: await processStart(process.pid),
      hostname: hostname(),
      mcp_url: url,
      host_url: hostUrl,
      host_token_file: token.file,
      version: options.version,
      host: { connected: false, app_pid: null, version: null, mode: null },
      scene: null,
      status: 'available',
      started_at: toRfc3339(systemClock.now()),
      metadata: {},
    },
  })
  await record.idle()
  const sceneFile =
    options.sceneFile === undefined
      ? null
      : watchSceneFile({
          path: options.sceneFile,
          setSceneText: json => registry.setSceneText(json),
          limits,
          log,
        })

  const closed = Promise.withResolvers<void>()
  let stopping: Promise<void> | null = null
  return {
    url,
    hostUrl,
    hostTokenFile: token.file,
    instanceId,
    warnings: [],
    closed: closed.promise,
    stop() {
      stopping ??= (async () => {
        await sceneFile?.stop()
        await record.remove()
        await server.stop()
        await store?.close()
      })().then(closed.resolve, closed.reject)
      return stopping
    },
  }
}

/** What the application reports, handed to those who keep it. */
function createSink(
  registry: ResourceRegistry,
  audit: AuditLog,
  store: ArtefactStore | null,
  limits: Limits,
): HostSink {
  return {
    setSceneText: json => registry.setSceneText(json),
    audit,
    artefacts: store,
    openSessionEventBuffer: sessionId => {
      const buffer = new SessionEventBuffer({ sessionId, limits })
      registry.registerSessionEventBuffer(buffer)
      return buffer
    },
  }
}

function toConfig(options: ServeOptions): McpHttpConfig {
  const { port, host, publicUrl, allowedHosts, allowedOrigins, limits } = options
  return {
    port,
    host,
    allowedHosts,
    allowedOrigins,
    enableResources: options.resources,
    enableArtefactResources: options.artefacts,
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(limits === undefined ? {} : { limits }),
  }
}
