import { randomUUID } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { bundledCatalog } from '../lib/util/adapter-files.ts'
import { monotonicClock, systemClock, systemTimer, toRfc3339 } from '../lib/util/time.ts'
import type { Logger } from '../lib/util/logger.ts'
import { processStart } from '../lib/util/process.ts'
import { createListener } from './mcp/app.ts'
import type { Auth } from './auth/auth.ts'
import { createAuth } from './auth/create-auth.ts'
import { resolveAuthLimits } from './auth/limits.ts'
import { DeferredEndpoint } from './mcp/deferred-endpoint.ts'
import { assembleGateway } from './gateway/assembly.ts'
import { winPort } from './gateway/win-port.ts'
import type { GatewayHandle, GatewayOptions } from './gateway/options.ts'
import { CatalogFile, type CatalogFileLimits } from './gateway/catalog/catalog-file.ts'
import { type PortNews, type Reporter, reportOf } from './gateway/election-report.ts'
import type { ElectionEvent } from './gateway/election.ts'
import { EventRing } from './gateway/event-ring.ts'
import { resolveGatewayLimits } from '../lib/config/gateway-limits.ts'
import {
  createIdentityRoute,
  readActiveGatewayFile,
  registryMark,
  removeActiveGatewayFile,
  type ActiveGateway,
  activeGatewayFile,
  identityPath,
  writeActiveGatewayFile,
} from './gateway/active-gateway.ts'
import { createRefusalLog } from './http/access-log.ts'
import { listen } from './http/listen.ts'
import { assembleApp } from './mcp/mcp-assembly.ts'
import { mcpUrlOf } from './http/listen-options.ts'
import { type Limits, resolveLimits } from '../lib/config/limits.ts'
import { openStateDirectory, selectStateDirectory } from '../lib/instances/state-directory.ts'
import { TlsSource } from './http/tls-source.ts'
import { version } from '../lib/util/version.ts'

/**
 * The gateway: every instance of this user on the machine, at one address. Binding the port is the
 * election; behind another gateway it waits until that is gone. Once `cancelled` is aborted, it
 * rejects and leaves nothing behind.
 */
export async function startGateway(
  options: GatewayOptions,
  cancelled: AbortSignal = new AbortController().signal,
): Promise<GatewayHandle> {
  const { log } = options
  const limits = resolveLimits(options.limits)
  const gatewayLimits = resolveGatewayLimits(options.limits)
  const { path: registryDir, instances } = await openStateDirectory(
    selectStateDirectory(options.registryDir, process.env),
  )
  const registry = registryMark(await realpath(registryDir))
  const allLimits = { ...limits, ...gatewayLimits }
  // Before the election: whoever stands by must not fail when it is needed.
  const catalog = await openCatalog(options.catalog, allLimits, log)
  cancelled.throwIfAborted()

  const instanceId = randomUUID()
  const ring = new EventRing(gatewayLimits)
  const tell = (news: ElectionEvent | PortNews, by: Reporter): void => {
    const report = reportOf(news, by)
    ring.record(report.entry)
    log[report.level](report.fields, report.message)
  }

  // Ended in reverse order: at once when a later step of the start fails.
  await using opened = new AsyncDisposableStack()
  const tls = options.tls && (await TlsSource.open(options.tls, { limits, log }))
  opened.defer(() => tls?.close())
  const mcp = new DeferredEndpoint()
  let active: ActiveGateway | null = null
  let url = mcpUrlOf(options, options.port)
  const auth = await createAuth(options.auth ?? { mode: 'none' }, {
    mcpUrl: () => url,
    limits: resolveAuthLimits(options.limits),
    ...{ clock: systemClock, ticks: monotonicClock, timer: systemTimer, log },
  })
  opened.defer(() => auth.close())
  const parts = { auth, limits, mcp, active: () => active }
  const listener = createGatewayListener(options, parts)
  const candidate = { instanceId, port: options.port, registry }
  const { won: listening, from } = await winPort({
    options,
    limits: gatewayLimits,
    registryDir,
    by: candidate,
    bind: () => listen({ host: options.host, port: options.port }, { listener, tls, limits, log }),
    tell: news => tell(news, candidate),
    signal: cancelled,
  })
  const stopListening = once(() => listening.stop(() => mcp.close()))
  opened.defer(stopListening)
  const startedMs = systemClock.now()

  const { port } = listening.address
  const by = { ...candidate, port }
  url = mcpUrlOf(options, port)
  active = await describeSelf({ instanceId, url, registry, startedMs })
  const file = activeGatewayFile(registryDir, port)
  // Whoever yields takes it away first.
  const yielded = (await readActiveGatewayFile(file))?.instanceId !== from?.instanceId
  tell(from === null ? { event: 'election_won' } : { event: 'takeover', from, yielded }, by)
  await writeDown(file, active, log)
  opened.defer(() => removeActiveGatewayFile(file, instanceId))

  const assembled = await assembleGateway({
    instancesDir: instances,
    catalog,
    self: { host: options.host, port, mcpUrl: url, startedMs },
    ring,
    limits: allLimits,
    log,
  })
  opened.defer(() => assembled.close())
  mcp.open(assembled.endpoint)
  // Others may have the port before anything else here has ended.
  opened.defer(stopListening)
  opened.defer(() => {
    tell({ event: 'voluntary_yield' }, by)
    return removeActiveGatewayFile(file, instanceId)
  })
  return handleOf({ url, port, instanceId, registryDir }, opened.move())
}

function openCatalog(
  path: string | undefined,
  limits: CatalogFileLimits,
  log: Logger,
): Promise<CatalogFile> {
  return path === undefined
    ? CatalogFile.open({ path: bundledCatalog, source: 'bundled', limits, log })
    : CatalogFile.open({ path, source: 'file', limits, log })
}

async function describeSelf({
  startedMs,
  ...facts
}: Pick<ActiveGateway, 'instanceId' | 'url' | 'registry'> & {
  startedMs: number
}): Promise<ActiveGateway> {
  return {
    ...facts,
    version,
    pid: process.pid,
    pidStart: await processStart(process.pid),
    startedAt: toRfc3339(startedMs),
  }
}

interface ListenerParts {
  readonly auth: Auth
  readonly limits: Limits
  readonly mcp: DeferredEndpoint
  readonly active: () => ActiveGateway | null
}

function createGatewayListener(
  options: GatewayOptions,
  { auth, limits, mcp, active }: ListenerParts,
): RequestListener {
  const { accessLog, log } = options
  const app = assembleApp({
    mcp,
    reachable: options,
    auth: auth.policy,
    onRefused: createRefusalLog(monotonicClock, ({ status, reason, peer, principal }) => {
      log.warn({ status, reason, peer, principal }, 'a request was refused')
    }),
    limits,
    log,
    accessLog,
  })
  return createListener({
    ...app,
    documents: auth.documents,
    activeGateway: { path: identityPath, handle: createIdentityRoute(active) },
    isReady: () => mcp.isOpen,
  })
}

/** Without it another gateway cannot tell which process this one is; it serves all the same. */
async function writeDown(file: string, active: ActiveGateway, log: Logger): Promise<void> {
  try {
    await writeActiveGatewayFile(file, active)
  } catch (error) {
    log.warn({ err: error, file }, 'the gateway cannot write down which process it is')
  }
}

function handleOf(
  facts: Pick<GatewayHandle, 'url' | 'port' | 'instanceId' | 'registryDir'>,
  running: AsyncDisposableStack,
): GatewayHandle {
  const closed = Promise.withResolvers<void>()
  return {
    ...facts,
    closed: closed.promise,
    stop: once(() => running.disposeAsync().then(closed.resolve, closed.reject)),
  }
}

/** Asked for again, it is still done once. */
function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  return () => (running ??= run())
}

type JoinOptions = Omit<GatewayOptions, 'standby' | 'patient' | 'onElection'>

/**
 * Runs the gateway beside another server of this process, active or standby. A failure of the
 * gateway is logged and never ends that server.
 */
export function joinGateway(options: JoinOptions): { stop(): Promise<void> } {
  const { log } = options
  const cancel = new AbortController()
  const rules = { standby: true, patient: true }
  const starting = startGateway({ ...options, ...rules }, cancel.signal).then(
    handle => {
      const { url, instanceId } = handle
      log.info({ url, instance_id: instanceId }, 'the gateway listens')
      return handle
    },
    (error: unknown) => {
      if (!cancel.signal.aborted) log.warn({ err: error }, 'the gateway cannot run here')
      return null
    },
  )
  return {
    async stop() {
      cancel.abort()
      const handle = await starting
      await handle?.stop()
    },
  }
}
