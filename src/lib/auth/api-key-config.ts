import { randomBytes } from 'node:crypto'

/** The variable with the API key, for servers and clients. */
export const keyVariable = 'SERVICE_MCP_API_KEY'

/** Settings of a shared API key. */
export type ApiKeyOptions = Partial<Omit<ApiKeyConfig, 'resolve'>>

/**
 * The source of the shared key of an MCP server. Enforces nothing: pass the result of `resolve()`
 * to `validateBearerToken`.
 */
export class ApiKeyConfig {
  /** The key itself; when set it overrides the environment variable. Default null. */
  readonly apiKey: string | null
  /** Name of the environment variable read by `resolve`. Default `SERVICE_MCP_API_KEY`. */
  readonly envVar: string
  /** The header that carries `Bearer <key>`. Default `Authorization`. */
  readonly headerName: string

  constructor(options: ApiKeyOptions = {}) {
    const { apiKey = null, envVar = keyVariable, headerName = 'Authorization' } = options
    this.apiKey = apiKey
    this.envVar = envVar
    this.headerName = headerName
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
 * can be guessed.
 */
export function generateApiKey(length = 32): string {
  return randomBytes(length).toString('base64url')
}
