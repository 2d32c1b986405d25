import type { Limits } from '../../lib/config/limits.ts'
import type { BucketSettings } from '../artefacts/bucket.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { AuthSettings } from '../auth/auth.ts'
import type { CaptureBackend, CaptureMode } from '../capture/backend.ts'
import type { WindowCapture } from '../capture/window-capture.ts'
import type { GatewayAccessLog } from '../http/access-log.ts'
import type { AppOrigin } from './app-origins.ts'
import type { ListenOptions } from '../http/listen-options.ts'
import type { JoinSettings } from '../join/joiner.ts'
import type { Stoppable } from '../http/server-socket.ts'

/**
 * Everything `serve` decided before the server starts: checked values, no flags, no environment.
 */
export interface ServeOptions extends ListenOptions {
  /** Kind of application; `unknown` by default. */
  dccType: string
  /** What people call this instance. */
  name?: string
  /** Folder of instance records, tokens and artefacts; absent: the default in the temp folder. */
  registryDir?: string
  /** False: none are served. True: in files below `registryDir`. */
  artefacts: boolean | BucketSettings
  resources: boolean
  /** Offer the read-only tools, also at the gateway beside it. Default false. */
  tools?: boolean
  /** Serve the live page, also at the gateway beside it. Default false. */
  page?: boolean
  /** Keep notes of people about the document. Default false. */
  notes?: boolean
  /** A folder for notes and checkpoints, for several users; absent: one of this user. */
  documentsDir?: string
  /** A JSON file to watch and serve as the scene. */
  sceneFile?: string
  /** File with the host token; absent: `hostTokenEnv`, else one is made for this run. */
  hostTokenFile?: string
  /** The host token itself, as found in the environment. Never empty. */
  hostTokenEnv?: string
  /** Web origins whose pages may be the application, as browsers write them. */
  appOrigins?: readonly string[]
  /** Compete for the gateway beside it, on this port of the same address. */
  gateway?: { readonly port: number; readonly aggregate?: boolean }
  /** The gateways to join; absent: none. */
  join?: JoinSettings
  /** Who may use `/mcp` and `/artefacts`, here and at the gateway beside it; absent: everyone. */
  auth?: AuthSettings
  /** Which window may be shown, and how it is captured; absent: none. */
  capture?: ServeCaptureOptions
  log: Logger
  accessLog: GatewayAccessLog
  /** Checked; tests add bounds that are not public. */
  limits?: Partial<Limits>
}

/** Which window may be shown, and how it is captured. */
export interface ServeCaptureOptions {
  readonly mode: CaptureMode
  /** Part of the title of the window that is meant; absent: that of the linked application. */
  readonly title?: string
  /** In place of those of this machine. */
  readonly backends?: readonly CaptureBackend[]
}

/** A started server. */
export interface ServeHandle extends Stoppable {
  /** The MCP endpoint; ends in `/mcp`. */
  readonly url: string
  /** The host link; ends in `/host`. */
  readonly hostUrl: string
  /** Where an adapter finds the host token; null when it came from the environment. */
  readonly hostTokenFile: string | null
  readonly instanceId: string
  /** The origins of `appOrigins`, with the token that their pages present. */
  readonly appOrigins: readonly AppOrigin[]
  /** A fresh link that logs a browser in to the page; null: there is no page. */
  readonly pageLogin: () => string | null
  /** A link to the page of the gateway beside it, once that is active; null: there is no such page. */
  readonly gatewayPageLogin: () => Promise<string | null>
  /** Whether the window can be captured, and why not; null: it is switched off. */
  readonly capture: Pick<WindowCapture, 'probe' | 'unavailable'> | null
}
