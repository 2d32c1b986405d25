import { randomUUID } from 'node:crypto'
import { monotonicClock, systemClock, toRfc3339 } from '../lib/util/time.ts'
import type { AccountsUrl } from '../lib/config/accounts-url.ts'
import { processStart } from '../lib/instances/process.ts'
import { AccountTokens } from './auth/account-tokens.ts'
import { newOwnerToken, withOwnerAccess } from './auth/account-access.ts'
import { createAuth } from './auth/auth.ts'
import { type AssembledGateway, assembleGateway } from './gateway/assembly.ts'
import { type ElectionNews, winPort } from './gateway/election.ts'
import type { ElectionLine, GatewayHandle, GatewayOptions } from './gateway/options.ts'
import { bundledCatalog, CatalogFile } from './gateway/catalog/catalog-file.ts'
import { shortId } from '../lib/instances/select-instance.ts'
import { EventRing } from './gateway/event-ring.ts'
import { resolveGatewayLimits } from './gateway/limits.ts'
import { removeActiveGateway, writeActiveGateway } from './gateway/active-gateway.ts'
import { KeptSessions } from './mcp/kept-sessions.ts'
import { createRefusalLog } from './http/refusal-log.ts'
import { ServiceError } from '../lib/util/errors.ts'
import { Metrics } from './http/metrics.ts'
import { createApp, listenerOf } from './http/app.ts'
import { publicRoutes } from './http/documents.ts'
import { ServerSocket, stoppable } from './http/server-socket.ts'
import { guardUpgrades, type Upgrade } from './http/upgrade.ts'
import { refusalText } from './mcp/send.ts'
import { Page } from './page/page.ts'
import { selectStateDirectory } from '../lib/config/paths.ts'
import { joinPath } from '../lib/instances/join-wire.ts'
import { openStateDirectory } from '../lib/instances/state-directory.ts'
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
  const limits = resolveGatewayLimits(options.limits)
  const { path: registryDir, instances } = await openStateDirectory(
    selectStateDirectory(options.registryDir, process.env),
  )
  // Before the election: a standby must not fail when it takes over.
  const { catalog: path = bundledCatalog } = options
  const source = options.catalog === undefined ? 'bundled' : 'file'
  const catalog = await CatalogFile.open({ path, source, log })
  cancelled.throwIfAborted()

  const instanceId = randomUUID()
  const ring = new EventRing()
  const notify = (news: ElectionNews): void => {
    const { event, message, holder } = news
    ring.record({ event, instanceId: shortId(holder?.instance_id ?? instanceId), reason: message })
    const fields = holder && { active: holder.instance_id, active_pid: holder.pid, url: holder.url }
    log[event === 'port_taken' ? 'warn' : 'info']({ event, ...fields }, message)
    if (event === 'contention' || event === 'port_taken')
      options.onElection?.(lineOf(news, options.port))
  }

  // Ended in reverse order: at once when a later step of the start fails.
  await using opened = new AsyncDisposableStack()
  // The port is bound before there is anything to serve: requests wait meanwhile.
  const assembling = Promise.withResolvers<AssembledGateway>()
  const socket = new ServerSocket(options, { limits, log })
  opened.defer(async () => {
    assembling.reject(new ServiceError('overloaded', 'the gateway stopped before it was ready'))
    const gateway = await assembling.promise.catch(() => null)
    const stopped = socket.stop()
    gateway?.endpoint.close()
    gateway?.endLinks()
    await stopped
    await gateway?.close()
  })
  const mcpUrl = () => `${socket.url}/mcp`
  const accounts =
    options.acceptJoins && (await followTokens(options.acceptJoins, limits.joinTokenCheckMs))
  const auth = await createAuth(options.auth ?? { mode: 'none' }, { mcpUrl, accounts, log })
  opened.defer(() => auth.close())
  const ownerToken = newOwnerToken()
  const policy = withOwnerAccess(auth.policy, ownerToken)
  const onRefused = createRefusalLog(monotonicClock, ({ status, reason, peer, principal }) => {
    log.warn({ status, reason, peer, principal }, 'a request was refused')
  })
  const page = options.page
    ? new Page({
        auth: policy,
        keyLogin: options.auth?.mode !== 'oauth',
        writes: null,
        baseUrl: () => socket.url,
        publicUrl: options.publicUrl,
        onRefused,
        limits,
        clock: systemClock,
      })
    : undefined
  const joinUpgrade: Upgrade = (req, connection, ...rest) => {
    assembling.promise
      .then(({ acceptJoin }) => acceptJoin?.(req, connection, ...rest))
      .catch(() => connection.destroy())
  }
  const metrics = new Metrics('gateway', options.accessLog)
  const routes = publicRoutes({
    readyFacts: () => assembling.promise.then(() => ({})),
    documents: auth.documents,
  })
  if (page !== undefined) routes.route('/', page.files)
  const app = createApp({
    reach: options,
    auth: page?.auth ?? policy,
    mcp: {
      async handle(...asked) {
        const { endpoint } = await assembling.promise
        await endpoint.handle(...asked)
      },
      refusal: refusalText,
    },
    own: page?.routes,
    guarded: options.aggregate
      ? {
          async '/instances/*'(...asked) {
            await (await assembling.promise).download?.(...asked)
          },
        }
      : {},
    metrics,
    routes,
    onRefused,
    log,
    accessLog: metrics.accessLog,
  })
  const handlers = {
    listener: listenerOf(app),
    upgrades: options.acceptJoins && guardUpgrades(joinPath, joinUpgrade, options),
  }
  const before = await winPort({
    ...options,
    registryDir,
    bind: () => socket.bind(handlers),
    notify,
    signal: cancelled,
  })
  const startedMs = systemClock.now()
  const aggregate = options.aggregate === true

  const { port } = socket
  const url = mcpUrl()
  if (before === null) {
    notify({ event: 'election_won', message: `the gateway of port ${port}`, holder: null })
  } else {
    const message = `the gateway of port ${port}, after that of process ${before.pid}`
    notify({ event: 'takeover', message, holder: null })
  }
  const active = {
    instance_id: instanceId,
    pid: process.pid,
    pid_start: processStart(process.pid),
    version,
    url,
    started_at: toRfc3339(startedMs),
    aggregate,
  }
  try {
    await writeActiveGateway(registryDir, port, active, ownerToken)
  } catch (error) {
    // Other gateways cannot tell which process this one is, and commands of this account need a
    // key. It serves all the same.
    log.warn({ err: error }, 'the gateway cannot write down which process it is')
  }
  opened.defer(() => removeActiveGateway(registryDir, port, instanceId))

  const kept = await KeptSessions.open({ ...options, registryDir })
  opened.defer(() => kept?.close())
  const gateway = await assembleGateway({
    instancesDir: instances,
    catalog,
    self: { host: options.host, port, mcpUrl: url, startedMs },
    ring,
    tools: options.tools === true,
    aggregate,
    accounts,
    kept,
    onRefused,
    mayUseKey: () => auth.policy.isOpen?.() !== true,
    limits,
    log,
  })
  metrics.add(gateway.gauges)
  assembling.resolve(gateway)
  opened.defer(() => {
    const message = `this gateway leaves port ${port} to others`
    notify({ event: 'voluntary_yield', message, holder: null })
  })
  const running = opened.move()
  const pageLogin = () => page?.login()?.url ?? null
  const facts = { url, port, instanceId, registryDir, pageLogin }
  return { ...facts, ...stoppable(() => running.disposeAsync()) }
}

/** The line on stdout for the program that started this one. */
function lineOf({ event, message, holder }: ElectionNews, port: number): ElectionLine {
  const resident = holder && {
    instance_id: holder.instance_id,
    pid: holder.pid,
    url: holder.url,
    version: holder.version,
  }
  return {
    event: event === 'contention' ? 'standby' : 'port_taken',
    port,
    reason: message,
    resident,
  }
}

async function followTokens(server: AccountsUrl, checkMs: number): Promise<AccountTokens> {
  // Loaded on demand: it imports the HTTP client.
  const { AccountsClient } = await import('../lib/accounts/client.ts')
  const client = new AccountsClient(server, process.env, 2000)
  return new AccountTokens(client, checkMs)
}

/**
 * Runs the gateway beside another server of this process, active or standby. A failure of the
 * gateway is logged and never ends that server.
 */
export function joinGateway(options: Omit<GatewayOptions, 'standby' | 'patient' | 'onElection'>): {
  /** Resolves once it is active; with null when it never will be. */
  readonly active: Promise<GatewayHandle | null>
  stop(): Promise<void>
} {
  const { log } = options
  const cancel = new AbortController()
  const rules = { standby: true, patient: true }
  const starting = startGateway({ ...options, ...rules }, cancel.signal).then(
    handle => {
      log.info({ url: handle.url, instance_id: handle.instanceId }, 'the gateway listens')
      return handle
    },
    (error: unknown) => {
      if (!cancel.signal.aborted) log.warn({ err: error }, 'the gateway cannot run here')
      return null
    },
  )
  return {
    active: starting,
    async stop() {
      cancel.abort()
      await (await starting)?.stop()
    },
  }
}
