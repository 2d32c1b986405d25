import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { AccountsUrl } from '../lib/config/accounts-url.ts'
import { selectStateDirectory } from '../lib/config/paths.ts'
import { joinPath } from '../lib/instances/join-wire.ts'
import { processStart } from '../lib/instances/process.ts'
import { shortId } from '../lib/instances/select-instance.ts'
import { openStateDirectory } from '../lib/instances/state-directory.ts'
import type { Logger } from '../lib/util/logger.ts'
import { monotonicClock } from '../lib/util/time.ts'
import { newOwnerToken, withOwnerAccess } from './auth/account-access.ts'
import { AccountTokens } from './auth/account-tokens.ts'
import { type AuthSettings, createAuth } from './auth/auth.ts'
import { removeActiveGateway, writeActiveGateway } from './gateway/active-gateway.ts'
import { Catalog } from './gateway/catalog.ts'
import { acquirePort, type ElectionEvent } from './gateway/election.ts'
import { EventRing } from './gateway/event-ring.ts'
import type { InstanceDirectory } from './gateway/instance-directory.ts'
import { countByHealth } from './gateway/instance-rows.ts'
import { JoinedInstances } from './gateway/join/joined-instances.ts'
import { LocalDirectory } from './gateway/local-directory.ts'
import { Connections } from './gateway/relay/connections.ts'
import { openView } from './gateway/views/view.ts'
import { Views } from './gateway/views/views.ts'
import type { GatewayAccessLog } from './http/access-log.ts'
import { createApp, listenerOf } from './http/app.ts'
import { publicRoutes } from './http/public-routes.ts'
import { serverDefaults, type ServerLimits } from './http/limits.ts'
import type { ListenOptions } from './http/listen-options.ts'
import { type Gauge, Metrics } from './http/metrics.ts'
import { createRefusalLog } from './http/refusal-log.ts'
import { type Handlers, ServerSocket, type Stoppable, stoppable } from './http/server-socket.ts'
import { guardUpgrades, type Upgrade } from './http/upgrade.ts'
import { activityGauges } from './mcp/endpoint.ts'
import { KeptSessions } from './mcp/kept-sessions.ts'
import { refuseUnread } from './mcp/send.ts'
import { Page } from './page/page.ts'

/** Everything `gateway` decided before it starts: checked values, no flags, no environment. */
export interface GatewayOptions extends ListenOptions {
  /** Binding it is the election; 0 picks a free one. */
  port: number
  /** Folder of the instance records; absent: the default in the temp folder. */
  registryDir?: string
  /** The file with the catalog; absent: the one that comes with the program. */
  catalog?: string
  /** Wait behind another gateway; else fail, naming it. */
  standby: boolean
  /** Wait behind any program that holds the port, without a time limit. */
  waitForPort?: boolean
  /** Offer the read-only tools. Default false. */
  tools?: boolean
  /** Pass the resources of instances on, under `instance://`. Default false. */
  aggregate?: boolean
  /**
   * Accept instances that join with service tokens of this accounts server; for `aggregate`. Default:
   * none joins.
   */
  acceptJoins?: AccountsUrl
  /** Serve the live page. Default false. */
  page?: boolean
  /** Who may use `/mcp`; absent: everyone. */
  auth?: AuthSettings
  /** Told while it is not the gateway yet; the event is `standby` or `port_taken`. */
  onElection?: (news: Omit<ElectionEvent, 'event'> & { event: string; port: number }) => void
  log: Logger
  accessLog: GatewayAccessLog
  /** Checked; bounds that are not public come from tests. */
  limits?: Partial<ServerLimits>
}

/** A gateway that has its port. */
export interface GatewayHandle extends Stoppable {
  /** The MCP endpoint; ends in `/mcp`. */
  readonly url: string
  readonly port: number
  readonly instanceId: string
  readonly registryDir: string
  /** A fresh link that logs a browser in to the page; null: there is no page. */
  readonly pageLogin: () => string | null
}

/**
 * The gateway: every instance of this user on the machine, at one address. Binding the port is the
 * election; behind another gateway it waits until that is gone. Once `cancelled` is aborted, it
 * rejects and leaves nothing behind.
 */
export async function startGateway(
  options: GatewayOptions,
  cancelled: AbortSignal = new AbortController().signal,
): Promise<GatewayHandle> {
  const { log, accessLog, aggregate = false, tools = false } = options
  const limits = { ...serverDefaults, ...options.limits }
  const { path: registryDir, instances: instancesDir } = await openStateDirectory(
    selectStateDirectory(options.registryDir, process.env),
  )
  const instanceId = randomUUID()
  const ring = new EventRing()
  const remember = ({ event, reason, resident: active }: ElectionEvent): void => {
    ring.record({ event, instanceId: shortId(active?.instance_id ?? instanceId), reason })
    const fields = active && { active: active.instance_id, active_pid: active.pid, url: active.url }
    log[event === 'port_taken' ? 'warn' : 'info']({ event, ...fields }, reason)
  }

  // Ended in reverse order: at once when a later step of the start fails.
  await using opened = new AsyncDisposableStack()
  // Before the election: a standby must not fail when it takes over.
  const catalog = await Catalog.open(options.catalog)
  const socket = new ServerSocket(options, { limits, log })
  const accounts =
    options.acceptJoins && (await followTokens(options.acceptJoins, limits.joinTokenCheckMs))
  const auth = await createAuth(options.auth ?? { mode: 'none' }, {
    mcpUrl: () => `${socket.url}/mcp`,
    accounts,
    log,
  })
  opened.defer(() => auth.close())
  cancelled.throwIfAborted()

  // Ended once the last request is answered.
  const backend = opened.use(new AsyncDisposableStack())
  // Requests that come before the gateway knows its instances wait for it.
  const ready = Promise.withResolvers<Ready>()
  ready.promise.catch(() => {})
  let endStreams = () => {}
  opened.defer(async () => {
    ready.reject(new Error('the gateway stopped before it was ready'))
    const stopped = socket.stop()
    endStreams()
    await stopped
  })
  const before = await acquirePort({
    ...options,
    registryDir,
    bind: () => socket.bind(waitingFor(ready.promise, options, limits.rejoinMs)),
    notify(news) {
      remember(news)
      const event = news.event === 'contention' ? 'standby' : news.event
      options.onElection?.({ ...news, event, port: options.port })
    },
    signal: cancelled,
  })
  const { port } = socket
  const url = `${socket.url}/mcp`
  const behind = before === null ? '' : `, after that of process ${before.pid}`
  const event = before === null ? 'election_won' : 'takeover'
  remember({ event, reason: `the gateway of port ${port}${behind}`, resident: null })

  const ownerToken = newOwnerToken()
  const { pid } = process
  const active = { instance_id: instanceId, pid, pid_start: processStart(pid), url, aggregate }
  opened.defer(() => removeActiveGateway(registryDir, port, instanceId))
  await writeActiveGateway(registryDir, port, active, ownerToken)
  const kept = await KeptSessions.open({ ...options, registryDir })
  opened.defer(() => kept?.close())

  const onRefused = createRefusalLog(monotonicClock, ({ status, reason, peer, principal }) => {
    log.warn({ status, reason, peer, principal }, 'a request was refused')
  })
  // Resolves after the first scan, so that no client sees a partial list.
  const directory = await LocalDirectory.open({ instancesDir, log, isGateway: true })
  backend.defer(() => directory.close())
  const joined = accounts && new JoinedInstances({ directory, tokens: accounts, onRefused, log })
  const connections = aggregate
    ? new Connections({
        directory,
        instancesDir,
        joined,
        // A record that names the port of the gateway would have it ask itself.
        isOwn: at => Number(at.port) === port,
        mayUseKey: () => auth.policy.isOpen?.() !== true,
        limits,
      })
    : undefined
  backend.defer(() => connections?.close())
  const self = { host: options.host, port, mcpUrl: url }
  const parts = { connections, catalog, tools, kept, self, limits, log, accessLog }
  const all = openView(parts, directory, joined && null, ring)
  const views = new Views(all, viewer => openView(parts, directory, viewer))
  endStreams = () => {
    views.close()
    joined?.close()
  }

  const policy = withOwnerAccess(auth.policy, ownerToken)
  const page = options.page
    ? new Page({
        auth: policy,
        keyLogin: options.auth?.mode !== 'oauth',
        writes: null,
        baseUrl: () => socket.url,
        publicUrl: options.publicUrl,
        onRefused,
        limits,
      })
    : undefined
  const metrics = new Metrics('gateway', accessLog)
  metrics.add(() => [...activityGauges(views.activity()), instanceGauge(directory)])
  const routes = publicRoutes(auth.documents)
  if (page !== undefined) routes.route('/', page.files)
  const app = createApp({
    reach: options,
    auth: page?.auth ?? policy,
    mcp: { handle: (...asked) => views.handle(...asked), refuse: refuseUnread },
    own: page?.routes,
    guarded: aggregate ? { '/instances/*': (...asked) => views.download(...asked) } : {},
    metrics,
    routes,
    onRefused,
    log,
    accessLog: metrics.accessLog,
  })
  ready.resolve({ listener: listenerOf(app), acceptJoin: joined?.upgrade })
  opened.defer(() => {
    const reason = `this gateway leaves port ${port} to others`
    remember({ event: 'voluntary_yield', reason, resident: null })
  })
  const running = opened.move()
  const pageLogin = () => page?.login()?.url ?? null
  const facts = { url, port, instanceId, registryDir, pageLogin }
  return { ...facts, ...stoppable(() => running.disposeAsync()) }
}

interface Ready {
  readonly listener: RequestListener
  /** The handshake of an instance that joins. Absent: none is accepted. */
  readonly acceptJoin: Upgrade | undefined
}

/** Handlers for a socket that is bound before there is anything to serve. */
function waitingFor(ready: Promise<Ready>, options: GatewayOptions, rejoinMs: number): Handlers {
  // Joins are accepted first, so that no client is told that an instance is unknown which comes back.
  const rejoined = options.acceptJoins && ready.then(() => delay(rejoinMs, null, { ref: false }))
  const complete = Promise.all([ready, rejoined])
  complete.catch(() => {})
  const acceptJoin: Upgrade = (...asked) => {
    ready.then(
      gateway => gateway.acceptJoin?.(...asked),
      () => asked[1].destroy(),
    )
  }
  return {
    listener(req, res) {
      complete.then(
        ([{ listener }]) => listener(req, res),
        () => res.destroy(),
      )
    },
    upgrades: options.acceptJoins && guardUpgrades(joinPath, acceptJoin, options),
  }
}

function instanceGauge({ entries }: InstanceDirectory): Gauge {
  const counts = Object.entries(countByHealth(entries))
  return {
    name: 'service_cli_instances',
    help: 'Instances of this machine, and those that joined, by health.',
    samples: counts.map(([health, count]) => [`{health="${health}"}`, count]),
  }
}

async function followTokens(server: AccountsUrl, checkMs: number): Promise<AccountTokens> {
  // Loaded on demand: it imports the HTTP client.
  const { AccountsClient } = await import('../lib/accounts/client.ts')
  return new AccountTokens(new AccountsClient(server, process.env, 2000), checkMs)
}

/**
 * Runs the gateway beside another server of this process, active or standby. A failure of the
 * gateway is logged and never ends that server.
 */
export function startEmbeddedGateway(options: Omit<GatewayOptions, 'standby' | 'onElection'>) {
  const cancel = new AbortController()
  const { signal } = cancel
  const starting = startGateway({ ...options, standby: true, waitForPort: true }, signal)
  /** Resolves once it is active; with null when it never will be. */
  const active = starting.catch((error: unknown) => {
    if (!signal.aborted) options.log.warn({ err: error }, 'the gateway cannot run here')
    return null
  })
  return {
    active,
    async stop(): Promise<void> {
      cancel.abort()
      await (await active)?.stop()
    },
  }
}
