import type { RequestListener } from 'node:http'
import { checkLimits } from '../lib/config/limits.ts'
import { type Logger, silentLogger } from '../lib/util/logger.ts'
import { ok } from '../lib/util/result.ts'
import { type Clock, monotonicClock, systemClock } from '../lib/util/time.ts'
import { ArtefactFolder } from './artefacts/folder.ts'
import { artefactRootIn, defaultArtefactRoot } from './artefacts/helpers.ts'
import { createArtefactProducer } from './artefacts/producer.ts'
import { ArtefactStore } from './artefacts/store.ts'
import { fitPng } from './capture/pictures.ts'
import { noApplication } from './capture/target.ts'
import { WindowCapture } from './capture/window-capture.ts'
import { accessLogOn } from './http/access-log.ts'
import { type AppParts, createApp, listenerOf } from './http/app.ts'
import { artefactDownload, artefactPattern } from './http/artefact-download.ts'
import { type AuthPolicy, openPolicy } from './http/authentication.ts'
import { clientMetadata, publicRoutes } from './http/public-routes.ts'
import { serverDefaults, type ServerLimits, stallTimeoutMs } from './http/limits.ts'
import { baseUrlOf, type ListenOptions } from './http/listen-options.ts'
import { createRefusalLog } from './http/refusal-log.ts'
import { type Handlers, ServerSocket } from './http/server-socket.ts'
import { guardUpgrades } from './http/upgrade.ts'
import { Page } from './page/page.ts'
import { ResourceRegistry } from './resources/registry.ts'
import { activityGauges, Endpoint, type McpEndpoint } from './mcp/endpoint.ts'
import { serverInstructions } from './mcp/instructions.ts'
import type { HostEndpoint, McpHttpConfig, ServerParts } from './mcp-http-config.ts'
import { refuseUnread } from './mcp/send.ts'
import { applicationTools, withLiveApp } from './mcp/tools/tools.ts'

const loopback = '127.0.0.1'
/** A stored picture that is made smaller becomes no larger than a model takes. */
const maxSmallerBytes = 3 * 1024 * 1024

/**
 * An MCP resource server on HTTP. Wire state through `resources()`, then `start()`.
 *
 * The configuration is no authentication boundary: what is enforced is `services.auth`.
 */
export class McpHttpServer {
  readonly #config: McpHttpConfig
  readonly #parts: ServerParts
  readonly #limits: ServerLimits
  readonly #log: Logger
  readonly #clock: Clock
  /** For durations: setting the time ends no session. */
  readonly #ticks: Clock
  readonly #store: ArtefactStore | null
  /** Null: not this server's own. */
  readonly #ownWindow: WindowCapture | null
  readonly #registry: ResourceRegistry
  readonly #where: NonNullable<ServerParts['where']>
  readonly #sockets: ServerSocket[] = []
  /** What answers requests, once the server serves. */
  #endpoint: McpEndpoint | null = null
  #hostEndpoint: HostEndpoint | null = null
  #page: Page | null = null
  #app: AppParts | null = null
  #baseUrl: string | null

  /** Binds and opens nothing yet. Throws `TypeError` for an empty host and an invalid limit. */
  constructor(config: McpHttpConfig = {}, services: ServerParts = {}) {
    this.#config = config
    this.#parts = services
    this.#limits = { ...serverDefaults, ...checkLimits(config.limits), ...services.limits }
    this.#log = services.log ?? silentLogger
    this.#clock = services.clock ?? systemClock
    this.#ticks = services.clock ?? monotonicClock
    const { host = loopback, port = 0 } = config
    // To the system, no address means every address.
    if (host.trim() === '') throw new TypeError('host must not be empty; use 127.0.0.1 or 0.0.0.0')
    this.#where = services.where ?? { ...config, host, port }
    this.#baseUrl = this.#where.publicUrl === undefined ? null : baseUrlOf(this.#where, port)
    this.#store = this.#openStore()
    this.#ownWindow = this.#openOwnWindow()
    this.#registry = this.#createRegistry(this.#store)
  }

  /** The resource registry, through which the application's state is wired. */
  resources(): ResourceRegistry {
    return this.#registry
  }

  /**
   * A link that logs a browser in to the live page: it works once, for five minutes. Null without
   * `enablePage`, and while the address of the server is not known.
   */
  pageLoginUrl(): string | null {
    return this.#page?.login()?.url ?? null
  }

  /**
   * Binds and serves. Resolves with the MCP endpoint's URL and the port.
   * Throws `port_in_use`, `listen_failed`, `registry_dir_unsafe`, `storage_failed`, or
   * `config_invalid` for a certificate that cannot be used; then a new server is needed.
   */
  async start(): Promise<{ url: string; port: number; localUrl: string }> {
    const handlers = this.#assemble()
    // Opening the store now shows an unusable folder at the start, not at the first read.
    await this.#store?.start()
    const { host, tls } = this.#where
    const socket = await this.#bind(this.#where, handlers)
    const { port } = socket
    this.#baseUrl = socket.url
    const url = `${socket.url}/mcp`
    if (tls === undefined || this.#hostEndpoint === null) {
      return { url, port, localUrl: baseUrlOf({ host, tls }, port) }
    }
    // An application beside the server knows no authority of its certificate.
    const local = await this.#bind({ host: loopback, port: 0 }, handlers)
    return { url, port, localUrl: local.url }
  }

  /**
   * Ends streams and sessions, closes every connection. Stored artefacts stay. For good: a new
   * start takes a new server.
   */
  async stop(): Promise<void> {
    const stopping = this.#sockets.splice(0).map(socket => socket.stop())
    this.#endpoint?.close()
    this.#hostEndpoint?.close()
    await Promise.all(stopping)
    this.#ownWindow?.close()
    this.#registry.close()
    if (this.#parts.store === undefined) await this.#store?.close()
  }

  /**
   * The same server as a listener, for a host that owns an HTTP server already: call it once,
   * instead of `start`. It answers `/mcp`, `/artefacts/…`, `/healthz` and `/readyz`.
   */
  requestListener(): RequestListener {
    const { listener } = this.#assemble()
    const timeoutMs = stallTimeoutMs(this.#limits)
    return (req, res) => {
      // Node's servers have no such limit unless they are told one; then that is kept.
      if (!req.socket.timeout) req.socket.setTimeout(timeoutMs)
      listener(req, res)
    }
  }

  /**
   * Returns what answers a gateway that was joined, over the link between them: `/mcp` and
   * `/artefacts/…`. The link is the authentication, and may only read. Throws before the server
   * serves.
   */
  linkListener(): RequestListener {
    if (this.#app === null) throw new Error('the server does not listen')
    const outcome = { ok: true, principal: 'joined-gateway', mayWrite: false } as const
    const auth: AuthPolicy = { authenticate: () => outcome }
    const { metrics: _, own: __, ...shared } = this.#app
    return listenerOf(createApp({ ...shared, reach: null, auth }))
  }

  async #bind(where: ListenOptions, handlers: Handlers): Promise<ServerSocket> {
    const socket = new ServerSocket(where, { limits: this.#limits, log: this.#log })
    this.#sockets.push(socket)
    await socket.bind(handlers)
    return socket
  }

  #assemble(): Handlers {
    if (this.#app !== null) {
      throw new Error('a server is served once, by start() or by requestListener(): make a new one')
    }
    const { auth = openPolicy, accessLog = accessLogOn(this.#log), metrics } = this.#parts
    const { notes, oauth, documents = [] } = this.#parts
    const registry = this.#registry
    this.#ownWindow?.setTarget(ok({ pid: process.pid, title: null }))
    const endpoint = this.#createEndpoint()
    this.#endpoint = endpoint
    metrics?.add(() => activityGauges(endpoint.activity()))
    const onRefused = createRefusalLog(this.#ticks, ({ status, reason, peer, principal }) => {
      const actor = principal ?? peer
      const outcome = { denied: { reason } }
      registry.auditLog?.record({ action: 'http.request', actor, outcome, params: { status } })
    })
    const page = this.#config.enablePage
      ? new Page({
          auth,
          onRefused,
          ...this.#parts.page,
          writes: { notes: notes ?? null, store: this.#store },
          baseUrl: () => this.#baseUrl,
          publicUrl: this.#where.publicUrl,
          limits: this.#limits,
        })
      : null
    const pageLogin = () => page?.login() ?? null
    const host = this.#parts.host?.({ registry, onRefused, pageLogin }) ?? null
    const metadata = oauth === undefined ? [] : clientMetadata(oauth, () => this.#baseUrl)
    const downloads = this.#config.enableResources === false ? null : this.#store
    const routes = publicRoutes(new Map([...metadata, ...documents]), this.#parts.readyFacts)
    if (page !== null) routes.route('/', page.files)
    this.#page = page
    this.#hostEndpoint = host
    this.#app = {
      reach: this.#where,
      auth: page?.auth ?? auth,
      mcp: { handle: (...asked) => endpoint.handle(...asked), refuse: refuseUnread },
      own: { ...host?.routes, ...page?.routes },
      guarded: downloads ? { [artefactPattern]: artefactDownload(downloads, this.#log) } : {},
      metrics,
      routes,
      onRefused,
      log: this.#log,
      accessLog,
    }
    return {
      listener: listenerOf(createApp(this.#app)),
      upgrades: host ? guardUpgrades('/host', host.upgrade, this.#where) : undefined,
    }
  }

  #createEndpoint(): McpEndpoint {
    const { enableResources: resourcesEnabled = true, enableTools: hasTools = false } = this.#config
    const { notes, clients, kept } = this.#parts
    const hasNotes = notes !== undefined
    const { tools = applicationTools(hasNotes) } = this.#parts
    const shown = this.#hasLiveApp() ? withLiveApp(tools) : tools
    return new Endpoint({
      registry: this.#registry,
      resourcesEnabled,
      clients,
      kept,
      tools: hasTools ? shown : [],
      notes,
      instructions: serverInstructions('application', { hasTools, hasNotes }),
      limits: this.#limits,
      clock: this.#ticks,
      log: this.#log,
    })
  }

  /** It reads through the tools. */
  #hasLiveApp(): boolean {
    return this.#config.enablePage === true && this.#config.enableTools === true
  }

  #openStore(): ArtefactStore | null {
    if (this.#config.enableArtefactResources !== true) return null
    if (this.#parts.store !== undefined) return this.#parts.store
    const { registryDir } = this.#config
    const root = registryDir === undefined ? defaultArtefactRoot() : artefactRootIn(registryDir)
    const options = { limits: this.#limits, clock: this.#clock, log: this.#log }
    return new ArtefactStore(new ArtefactFolder(root), options)
  }

  #openOwnWindow(): WindowCapture | null {
    const { capture } = this.#parts
    if (capture === undefined || this.#config.enableResources === false) return null
    const parts = { backends: [capture], captureMs: this.#limits.captureMs, log: this.#log }
    return new WindowCapture(parts, noApplication)
  }

  #createRegistry(store: ArtefactStore | null): ResourceRegistry {
    const limits = this.#limits
    const capture = this.#parts.captureSource ?? this.#ownWindow ?? undefined
    const { notes, checkpoints, clients, instance } = this.#parts
    const liveApp = this.#hasLiveApp()
    const kept = { notes, checkpoints, clients, instance, capture, liveApp }
    const parts = { limits, clock: this.#clock, log: this.#log, ...kept }
    if (store === null) return new ResourceRegistry(parts)
    const downloadUrl = (hex: string) =>
      this.#baseUrl === null ? null : `${this.#baseUrl}/artefacts/sha256/${hex}`
    const shrink = (file: Uint8Array<ArrayBuffer>, maxWidth: number) =>
      fitPng(Buffer.from(file.buffer), { maxWidth, maxBytes: maxSmallerBytes })
    const artefacts = createArtefactProducer({ store, downloadUrl, shrink })
    const registry = new ResourceRegistry({ ...parts, artefacts })
    store.onChange(() => registry.listChanged())
    return registry
  }
}
