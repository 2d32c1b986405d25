import type { Logger } from '../../lib/util/logger.ts'
import type { RegistrationMode } from '../../lib/accounts/protocol.ts'
import type { AccountLimits } from './limits.ts'
import type { AccessLog } from '../http/access-log.ts'
import type { DatabaseSettings } from '../database/settings.ts'
import type { HttpLimits } from '../http/limits.ts'
import type { ListenOptions } from '../http/listen-options.ts'
import type { Stoppable } from '../../lib/util/stoppable.ts'

/** Everything `registry` decided before the server starts: checked values, no flags. */
export interface AccountsServerOptions extends ListenOptions {
  /** Also the issuer (`iss`) of the tokens. */
  publicUrl?: string
  /** Folder of the database and the keys; with `database`, of the wrapping key. */
  dataDir: string
  /** A PostgreSQL database in place of the one in the folder. */
  database?: DatabaseSettings
  /** Default: open where only this machine reaches the accounts server, by invitation elsewhere. */
  registration?: RegistrationMode
  log: Logger
  accessLog: AccessLog
  limits?: Partial<HttpLimits & AccountLimits>
}

/** A started accounts server. */
export interface AccountsServerHandle extends Stoppable {
  /** The base: the API is below `/api/v1/auth`. */
  readonly url: string
  readonly registration: RegistrationMode
  /** Only this machine reaches it. */
  readonly local: boolean
}
