import type { RequestListener } from 'node:http'
import { isLoopback, localBase } from '../../lib/util/address.ts'
import type { OAuthConfig } from '../../lib/auth/oauth-config.ts'
import { type Clock, monotonicClock, systemClock } from '../../lib/util/time.ts'
import { type Logger, silentLogger } from '../../lib/util/logger.ts'
import { ok } from '../../lib/util/result.ts'
import { type AppParts, createListener, createUpgrades, type HostEndpoint } from './app.ts'
import { createFsStore } from '../artefacts/fs-store.ts'
import { artefactRootIn, defaultArtefactRoot } from '../artefacts/helpers.ts'
import { createLazyStore } from '../artefacts/lazy-store.ts'
import type { ArtefactStore } from '../artefacts/store.ts'
import {
  type AccessLog,
  accessLogOn,
  createRefusalLog,
  type RefusedRequest,
} from '../http/access-log.ts'
import { createArtefactDownload } from '../http/artefact-download.ts'
import type { AuthPolicy } from '../http/authentication.ts'
import { clientMetadata, type PublicDocuments } from '../http/public-routes.ts'
import type { PeerOf } from '../http/trusted-proxies.ts'
import { listen, type Listening, stallTimeoutMs } from '../http/listen.ts'
import type { CaptureBackend } from '../capture/backend.ts'
import { type CaptureLimits, resolveCaptureLimits } from '../capture/limits.ts'
import { noApplication } from '../capture/target.ts'
import { WindowCapture } from '../capture/window-capture.ts'
import type { McpEndpoint } from './endpoint.ts'
import { applicationInstructions } from '../host/instructions.ts'
import type { Presence } from '../host/link/presence.ts'
import { assembleApp, createServerEndpoint } from './mcp-assembly.ts'
import { checkConfig, type McpHttpConfig } from './mcp-http-config.ts'
import { checkLimits, type Limits, resolveLimits } from '../../lib/config/limits.ts'
import { TlsSource } from '../http/tls-source.ts'
import { createArtefactProducer } from '../artefacts/producer.ts'
import type { CaptureSource } from '../resources/capture-source.ts'
import { ResourceRegistry } from '../resources/registry.ts'

const loopback = '127.0.0.1'

/** What a host may hand in beside the configuration. */
export interface McpServices {
  /** Enforced on `/mcp` and `/artefacts`. Default: everyone who reaches the server may read. */
  auth?: AuthPolicy
  /** Its metadata document is served at `/.well-known/oauth-client-metadata`; enforces nothing. */
  oauth?: OAuthConfig
  /** Default: no log. */
  log?: Logger
  /**
   * Takes pictures of the window of this process, read as `capture://current_window`, for as long as
   * its probe says that it can. Default: none, and the resource does not exist.
   */
  capture?: CaptureBackend
}

/** What `service-cli serve` adds; not part of the library's face. */
export interface ServerParts extends McpServices {
  /** Default: the access entries go to `log`. */
  accessLog?: AccessLog
  /** Bounds beside the public ones; replaced by tests. */
  limits?: Partial<Limits & CaptureLimits>
  clock?: Clock
  store?: ArtefactStore
  /** In place of `capture`; whoever made it closes it. */
  captureSource?: CaptureSource
  /** Well-known documents; `baseUrl` is where clients reach the server, once it listens. */
  documents?: (baseUrl: () => string | null) => PublicDocuments
  /** What is known of the application on the host link; null: nothing yet. */
  presence?: () => Presence | null
  /** Makes what answers `/host` and `/host/…`. */
  host?: (context: {
    registry: ResourceRegistry
    peerOf: PeerOf
    onRefused: (refused: RefusedRequest) => void
  }) => HostEndpoint
}

/**
 * An MCP resource server on HTTP. Wire state through `resources()`, then `start()`.
 *
 * The configuration is no authentication boundary: what is enforced is `services.auth`.
 */
export class McpHttpServer {
  readonly #config: McpHttpConfig
  readonly #parts: ServerParts
  readonly #limits: Limits
  readonly #log: Logger
  readonly #clock: Clock
  /** For durations: setting the time ends no session. */
  readonly #ticks: Clock
  readonly #store: ArtefactStore | null
  /** Null: not this server's own. */
  readonly #ownWindow: WindowCapture | null
  readonly #registry: ResourceRegistry
  readonly #host: string
  #endpoint: McpEndpoint | null = null
  #listening: readonly Listening[] | null = null
  #tls: TlsSource | undefined
  #hostEndpoint: HostEndpoint | null = null
  #baseUrl: string | null
  #stopped = false
  #servedBy: 'start()' | 'requestListener()' | null = null

  /** Binds and opens nothing yet. Throws `TypeError` for a member or limit unknown or out of range. */
  constructor(config: McpHttpConfig = {}, services: ServerParts = {}) {
    checkConfig(config)
    this.#config = config
    this.#parts = services
    this.#limits = { ...resolveLimits(checkLimits(config.limits)), ...services.limits }
    this.#log = services.log ?? silentLogger
    this.#clock = services.clock ?? systemClock
    this.#ticks = services.clock ?? monotonicClock
    this.#host = config.host ?? '127.0.0.1'
    this.#baseUrl = config.publicUrl?.replace(/\/+$/, '') ?? null
    this.#store = this.#openStore()
    this.#ownWindow = this.#openOwnWindow()
    this.#registry = this.#createRegistry(this.#store)
  }

  /** The registry through which the application's state is wired. */
  resources(): ResourceRegistry {
    return this.#registry
  }

  /**
   * Binds and serves. Resolves with the MCP endpoint's URL and the port.
   * Throws `port_in_use`, `listen_failed`, `registry_dir_unsafe`, `storage_failed`, or
   * `config_invalid` for a certificate that cannot be used.
   */
  async start(): Promise<{ url: string; port: number; localUrl: string }> {
    if (this.#listening !== null) throw new Error('the server is started already')
    // Its audit log and its store are let go of: it would serve, and push nothing.
    if (this.#stopped) throw new Error('the server is stopped: make a new one')
    this.#claim('start()')
    // Opening the store now shows an unusable folder at the start, not at the first read.
    await this.#store?.page(undefined, 1)
    this.#warnIfOpen()
    const where = { host: this.#host, port: this.#config.port ?? 0 }
    const { tls: files } = this.#config
    const [limits, log] = [this.#limits, this.#log]
    const tls = files && (await TlsSource.open(files, { limits, log }))
    this.#tls = tls
    const app = this.#assemble()
    const { host } = app
    this.#hostEndpoint = host ?? null
    const parts = {
      listener: createListener(app),
      upgrades: host === undefined ? undefined : createUpgrades({ ...app, host }),
      limits,
      log,
    }
    const listening = await listen(where, { ...parts, tls })
    this.#listening = [listening]
    const { port } = listening.address
    const bound = localBase(this.#host, port, tls === undefined ? 'http' : 'https')
    this.#baseUrl ??= bound
    const url = `${this.#baseUrl}/mcp`
    if (tls === undefined || host === undefined) return { url, port, localUrl: bound }
    // An application beside the server knows no authority of its certificate.
    const local = await listen({ host: loopback, port: 0 }, parts)
    this.#listening = [listening, local]
    return { url, port, localUrl: localBase(loopback, local.address.port) }
  }

  /**
   * Ends streams and sessions, closes every connection. Stored artefacts stay. For good: a new
   * start takes a new server.
   */
  async stop(): Promise<void> {
    this.#stopped = true
    const listening = this.#listening
    this.#listening = null
    const endStreams = () => {
      this.#hostEndpoint?.close()
      this.#endpoint?.close()
    }
    this.#tls?.close()
    if (listening === null) endStreams()
    else await Promise.all(listening.map((one, at) => one.stop(at === 0 ? endStreams : () => {})))
    this.#endpoint = null
    await this.#ownWindow?.close()
    this.#registry.close()
    if (this.#parts.store === undefined) await this.#store?.close()
  }

  /**
   * The same server as a listener, for a host that owns an HTTP server already: call it once,
   * instead of `start`; after either of them, it throws. It answers `/mcp`, `/artefacts/…`, `/healthz` and `/readyz`.
   */
  requestListener(): RequestListener {
    if (this.#stopped) throw new Error('the server is stopped: make a new one')
    this.#claim('requestListener()')
    const listener = createListener(this.#assemble())
    const timeoutMs = stallTimeoutMs(this.#limits)
    return (req, res) => {
      // Node's servers have no such limit unless they are told one; then that is kept.
      if (!req.socket.timeout) req.socket.setTimeout(timeoutMs)
      listener(req, res)
    }
  }

  /** A failed `start` may be repeated: only the other way to serve is closed by it. */
  #claim(way: 'start()' | 'requestListener()'): void {
    const served = this.#servedBy
    if (served !== null && (served !== way || way === 'requestListener()')) {
      throw new Error(`${served} was called already: a server is served in one way, once`)
    }
    this.#servedBy = way
  }

  #assemble(): AppParts {
    const config = this.#config
    const registry = this.#registry
    registry.freeze()
    this.#ownWindow?.aim(ok({ pid: process.pid, title: null }))
    this.#endpoint ??= createServerEndpoint({
      registry,
      resourcesEnabled: config.enableResources ?? true,
      instructions: () => applicationInstructions(registry.scene, this.#parts.presence?.() ?? null),
      limits: this.#limits,
      clock: this.#ticks,
      log: this.#log,
    })
    const store = this.#store
    const onRefused = createRefusalLog(this.#ticks, ({ status, reason, peer, principal }) => {
      const actor = principal ?? peer
      const outcome = { denied: { reason } }
      registry.auditLog?.record({ action: 'http.request', actor, outcome, params: { status } })
    })
    const app = assembleApp({
      mcp: this.#endpoint,
      reachable: { ...config, host: this.#host },
      auth: this.#parts.auth,
      onRefused,
      limits: this.#limits,
      log: this.#log,
      accessLog: this.#parts.accessLog ?? accessLogOn(this.#log),
    })
    const host = this.#parts.host?.({ registry, peerOf: app.peerOf, onRefused })
    return {
      ...app,
      ...(host === undefined ? {} : { host }),
      ...(store === null || config.enableResources === false
        ? {}
        : { download: createArtefactDownload({ store, limits: this.#limits, log: this.#log }) }),
      documents: this.#documents(),
      isReady: () => this.#endpoint !== null,
    }
  }

  /** The program refuses such a start; whoever embeds the server may have checks of their own in front. */
  #warnIfOpen(): void {
    const host = this.#host
    if (this.#parts.auth !== undefined || isLoopback(host)) return
    this.#log.warn({ host }, 'no authentication: everyone who reaches the server can read from it')
  }

  #documents(): PublicDocuments {
    const { oauth, documents } = this.#parts
    const baseUrl = () => this.#baseUrl
    return new Map([
      ...(oauth === undefined ? [] : clientMetadata(oauth, baseUrl)),
      ...(documents?.(baseUrl) ?? []),
    ])
  }

  #openStore(): ArtefactStore | null {
    if (this.#config.enableArtefactResources !== true) return null
    if (this.#parts.store !== undefined) return this.#parts.store
    const { registryDir } = this.#config
    const root = registryDir === undefined ? defaultArtefactRoot() : artefactRootIn(registryDir)
    return createLazyStore(() =>
      createFsStore({ root, limits: this.#limits, clock: this.#clock, log: this.#log }),
    )
  }

  #openOwnWindow(): WindowCapture | null {
    const { capture } = this.#parts
    if (capture === undefined || this.#config.enableResources === false) return null
    const limits = resolveCaptureLimits(this.#limits)
    const parts = { mode: capture.name, backends: [capture], limits, log: this.#log }
    return new WindowCapture(parts, noApplication)
  }

  #createRegistry(store: ArtefactStore | null): ResourceRegistry {
    const limits = this.#limits
    const capture = this.#parts.captureSource ?? this.#ownWindow ?? undefined
    // No number of another run: each has fewer scenes than the milliseconds it lasts.
    const firstRevision = Math.floor(this.#clock.now())
    const parts = { limits, clock: this.#clock, log: this.#log, capture, firstRevision }
    if (store === null) return new ResourceRegistry({ ...parts, enableArtefactResources: false })
    const downloadUrl = (hex: string) =>
      this.#baseUrl === null ? null : `${this.#baseUrl}/artefacts/sha256/${hex}`
    const artefacts = createArtefactProducer({ store, limits, downloadUrl })
    const registry = new ResourceRegistry({ ...parts, artefacts, enableArtefactResources: true })
    store.onChange(() => registry.artefactsChanged())
    return registry
  }
}
