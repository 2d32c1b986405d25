import type { GatewayLimits } from './limits.ts'
import type { AccountsUrl } from '../../lib/config/accounts-url.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { AuthSettings } from '../auth/auth.ts'
import type { AccessLog } from '../http/access-log.ts'
import type { ListenOptions } from '../http/listen-options.ts'
import type { Stoppable } from '../http/server-socket.ts'

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
  patient?: boolean
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
  /** Told while it is not the gateway yet. */
  onElection?: (news: ElectionLine) => void
  log: Logger
  accessLog: AccessLog
  /** Checked; bounds that are not public come from tests. */
  limits?: Partial<GatewayLimits>
}

/** One piece of news of the election. Member names are those on the wire. */
export interface ElectionLine {
  readonly event: 'standby' | 'port_taken'
  readonly port: number
  /** A sentence for people. */
  readonly reason: string
  /** The gateway that has the port. */
  readonly resident: {
    readonly instance_id: string
    readonly pid: number
    readonly url: string
    readonly version: string
  } | null
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
