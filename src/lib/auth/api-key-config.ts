import { randomBytes } from 'node:crypto'

/** The variable with the API key, for servers and clients. */
export const keyVariable = 'SERVICE_MCP_API_KEY'

/** Settings of a shared API key. */
export interface ApiKeyOptions {
  /** The key itself; when set it overrides the environment variable. Default null. */
  apiKey?: string | null
  /** Name of the environment variable read by `resolve`. Default `SERVICE_MCP_API_KEY`. */
  envVar?: string
  /** HTTP header that carries `Bearer <key>`. Default `Authorization`. */
  headerName?: string
}

/**
 * The source of the shared key of an MCP server. Enforces nothing: pass the result of `resolve()`
 * to `validateBearerToken`.
 */
export class ApiKeyConfig {
  /** The literal key, or null. */
  readonly apiKey: string | null
  /** Name of the variable that `resolve` reads. */
  readonly envVar: string
  /** The `headerName` for `validateBearerToken`. */
  readonly headerName: string

  constructor(options: ApiKeyOptions = {}) {
    this.apiKey = options.apiKey ?? null
    this.envVar = options.envVar ?? keyVariable
    this.headerName = options.headerName ?? 'Authorization'
  }

  /**
   * The key: `apiKey`, else the environment variable, else null, which disables the check of
   * `validateBearerToken`. Empty text counts as absent. `env` defaults to the environment of the
   * process and is read at each call. Never throws.
   */
  resolve(env: NodeJS.ProcessEnv = process.env): string | null {
    return this.apiKey || env[this.envVar] || null
  }
}

/**
 * Generates a secret: `length` random bytes as URL-safe base64 without padding. Keys under 16 bytes
 * can be guessed. Throws `RangeError` unless `length` is a positive whole number.
 */
export function generateApiKey(length = 32): string {
  if (!Number.isInteger(length) || length < 1) {
    throw new RangeError('length must be a positive whole number of bytes')
  }
  return randomBytes(length).toString('base64url')
}
