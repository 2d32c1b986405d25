import { randomBytes } from 'node:crypto'

/** Holds the key of a server, for the server itself and for its clients. */
export const keyVariable = 'SERVICE_MCP_API_KEY'

/** Settings of a shared API key; every member is optional. */
export interface ApiKeyOptions {
  /** The key itself; when set it overrides the environment variable. Default null. */
  apiKey?: string | null
  /** Name of the environment variable read by `resolve`. Default `SERVICE_MCP_API_KEY`. */
  envVar?: string
  /** HTTP header that carries `Bearer <key>`. Default `Authorization`. */
  headerName?: string
}

/**
 * Where the shared key of an MCP server comes from. Declares, and enforces nothing: pass what
 * `resolve()` returns to `validateBearerToken`.
 */
export class ApiKeyConfig {
  /** The literal key, or null. */
  readonly apiKey: string | null
  /** Name of the variable that `resolve` reads. */
  readonly envVar: string
  /** For the `headerName` of `validateBearerToken`. */
  readonly headerName: string

  constructor(options: ApiKeyOptions = {}) {
    this.apiKey = options.apiKey ?? null
    this.envVar = options.envVar ?? keyVariable
    this.headerName = options.headerName ?? 'Authorization'
  }

  /**
   * The key: the member `apiKey`, else the environment variable, else null, with which
   * `validateBearerToken` checks nothing. An empty text counts as absent in both places. `env`
   * defaults to the environment of the process and is read at each call. Never throws.
   */
  resolve(env: NodeJS.ProcessEnv = process.env): string | null {
    if (this.apiKey) return this.apiKey
    // Names such as `constructor` are found on every object.
    const value: unknown = env[this.envVar]
    return typeof value === 'string' && value !== '' ? value : null
  }
}

const maxBytes = 1024

/**
 * A new secret: `length` random bytes (1 to 1024) as URL-safe base64 without padding; 32 bytes give
 * 43 characters. A key of fewer than 16 bytes can be guessed. Throws `RangeError` for any other length.
 */
export function generateApiKey(length = 32): string {
  if (!Number.isInteger(length) || length < 1 || length > maxBytes) {
    throw new RangeError(`length must be a whole number of bytes from 1 to ${maxBytes}`)
  }
  return randomBytes(length).toString('base64url')
}
