/** What the server needs of a log. `pino` satisfies it; so does a test's array. */
export interface Logger {
  debug(fields: object, message?: string): void
  info(fields: object, message?: string): void
  warn(fields: object, message?: string): void
  error(fields: object, message?: string): void
}

const ignore = (): void => {}

export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }

/** One access of a caller to an instance that joined a gateway. Nothing in it is a secret. */
export interface InstanceAccess {
  /** Null: a holder of the gateway's key. */
  readonly user: string | null
  readonly account_id: string | null
  readonly instance_id: string
  /** The user who joined the instance. */
  readonly owner: string
  /** The method, and of a tool its name. */
  readonly rpc: string
  readonly uri: string
  /** `ok`, or the code of the error. */
  readonly outcome: string
}

/** One served request. No header, no query of its address, no body: nothing in it is a secret. */
export interface AccessEntry {
  readonly method: string
  readonly path: string
  /** The pattern of the path, where the server knows it: a label of the metrics. */
  readonly route?: string
  /** The JSON-RPC method, where there was one. */
  readonly rpc: string | undefined
  /** The resource that the call was about, secrets of its query hidden. */
  readonly uri?: string
  /** Null: the connection was cut before any answer. */
  readonly status: number | null
  /** From the header block to the last byte handed over, or to the client's leaving. */
  readonly durationMs: number
  /** Absent where no caller was let in. */
  readonly principal?: string
  /** Address of the client. */
  readonly peer: string
  /** The request claims to come from service-cli; not verified. */
  readonly own?: boolean
}
