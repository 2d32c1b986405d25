import type { McpLimits } from './limits.ts'
import type { OAuthConfig } from '../../lib/auth/oauth-config.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { Clock } from '../../lib/util/time.ts'
import type { ArtefactStore } from '../artefacts/store.ts'
import type { CaptureBackend } from '../capture/backend.ts'
import type { CaptureLimits } from '../capture/limits.ts'
import type { AccessLog } from '../http/access-log.ts'
import type { RefusedRequest } from '../http/refusal-log.ts'
import type { Metrics } from '../http/metrics.ts'
import type { AuthPolicy } from '../http/authentication.ts'
import type { ListenOptions } from '../http/listen-options.ts'
import type { PublicDocuments, ReadyFacts } from '../http/public-routes.ts'
import type { PeerOf } from '../http/trusted-proxies.ts'
import type { Checkpoints } from '../checkpoints/checkpoints.ts'
import type { Notes } from '../notes/notes.ts'
import type { PageLogin, PageParts } from '../page/page.ts'
import type { CaptureSource } from '../resources/capture-source.ts'
import type { ResourceRegistry } from '../resources/registry.ts'
import type { HostEndpoint } from './upgrades.ts'
import type { ClientTable } from './client-table.ts'
import type { KeptSessions } from './kept-sessions.ts'
import type { ToolBox, ToolParts } from './tools/tools.ts'

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
  /** In place of the addresses of the configuration. */
  where?: ListenOptions
  /** Default: the access entries go to `log`. */
  accessLog?: AccessLog
  /** Serve `/metrics`. */
  metrics?: Metrics
  readyFacts?: ReadyFacts
  /** Bounds beside the public ones; replaced by tests. */
  limits?: Partial<McpLimits & CaptureLimits>
  clock?: Clock
  store?: ArtefactStore
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
  /** Well-known documents; `baseUrl` is where clients reach the server, once it listens. */
  documents?: (baseUrl: () => string | null) => PublicDocuments
  /** Replaced by the conformance tests. */
  tools?: (parts: ToolParts) => ToolBox
  /** Of the page, when that is enabled. */
  page?: Pick<PageParts, 'keyLogin' | 'folder'>
  /** Makes what answers `/host` and `/host/…`. */
  host?: (context: {
    registry: ResourceRegistry
    peerOf: PeerOf
    onRefused: (refused: RefusedRequest) => void
    pageLogin: () => PageLogin | null
  }) => HostEndpoint
}
