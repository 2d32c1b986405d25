import type { OAuthConfig } from '../lib/auth/oauth-config.ts'
import type { Named } from '../lib/instances/select-instance.ts'
import type { Limits } from '../lib/config/limits.ts'
import type { Logger } from '../lib/util/logger.ts'
import type { Clock } from '../lib/util/time.ts'
import type { ArtefactStore } from './artefacts/store.ts'
import type { CaptureBackend } from './capture/backend.ts'
import type { AccessLog } from './http/access-log.ts'
import type { AuthPolicy } from './http/authentication.ts'
import type { PublicDocuments, ReadyFacts } from './http/public-routes.ts'
import type { Reach } from './http/guard.ts'
import type { ServerLimits } from './http/limits.ts'
import type { ListenOptions } from './http/listen-options.ts'
import type { Metrics } from './http/metrics.ts'
import type { RefusedRequest } from './http/refusal-log.ts'
import type { createHostEndpoint } from './host/endpoint.ts'
import type { Checkpoints } from './checkpoints/checkpoints.ts'
import type { Notes } from './notes/notes.ts'
import type { PageLogin, PageParts } from './page/page.ts'
import type { CaptureSource } from './resources/capture.ts'
import type { ResourceRegistry } from './resources/registry.ts'
import type { ClientTable } from './mcp/client-table.ts'
import type { KeptSessions } from './mcp/kept-sessions.ts'
import type { Tool } from './mcp/tools/tool.ts'

/**
 * Settings of a server; by default on a free port of 127.0.0.1. Not an authentication boundary:
 * enforcement is a separate argument.
 */
export interface McpHttpConfig extends Partial<ListenOptions> {
  /** Folder of instance records, keys and artefacts (docs/reference.md, "State directory"). */
  registryDir?: string
  /** Advertise and serve resources. Default true; false makes every resources method −32601. */
  enableResources?: boolean
  /** Offer the read-only tools (docs/clients.md). Default false; without resources there are none. */
  enableTools?: boolean
  /** Serve `artefact://`. Default false; then reads answer −32002. */
  enableArtefactResources?: boolean
  /** Serve the live page at `/` (docs/page.md). Default false; then `/` is not found. */
  enablePage?: boolean
  /** Any of the bounds; the rest keep their defaults. */
  limits?: Partial<Limits>
}

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

/** What the application talks to. */
export type HostEndpoint = Omit<ReturnType<typeof createHostEndpoint>, 'pictures'>

/** What `service-cli serve` adds; not part of the library's face. */
export interface ServerParts extends McpServices {
  /** In place of the addresses of the configuration. */
  where?: ListenOptions & Pick<Reach, 'appOrigins'>
  /** Default: the access entries go to `log`. */
  accessLog?: AccessLog
  /** Serve `/metrics`. */
  metrics?: Metrics
  readyFacts?: ReadyFacts
  /** Bounds beside the public ones; replaced by tests. */
  limits?: Partial<ServerLimits>
  clock?: Clock
  store?: ArtefactStore
  /** The instance that this server is. Default: none, no address names it. */
  instance?: () => Named
  /** Default: there are no notes. */
  notes?: Notes
  /** Default: there are none. */
  checkpoints?: Checkpoints
  /** Default: there is no `server://clients`. */
  clients?: ClientTable
  /** Absent: a restart ends all sessions. */
  kept?: KeptSessions
  /** Replaces `capture`; its creator closes it. */
  captureSource?: CaptureSource
  /** Well-known documents. */
  documents?: PublicDocuments
  /** Replaced by the conformance tests. */
  tools?: readonly Tool[]
  /** Of the page, when that is enabled. */
  page?: Pick<PageParts, 'keyLogin' | 'folder'>
  /** Makes what answers `/host` and `/host/…`. */
  host?: (context: {
    registry: ResourceRegistry
    onRefused: (refused: RefusedRequest) => void
    pageLogin: () => PageLogin | null
  }) => HostEndpoint
}
