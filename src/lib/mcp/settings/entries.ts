import { keyVariable } from '../../auth/api-key-config.ts'
import type { JsonObject } from '../../util/json.ts'
import type { Settings } from './client.ts'

/** Forms in which a client is told to put the value of a variable somewhere. */
export const expansions = {
  /** Claude Code, Gemini CLI, Qwen Code, Goose, mcporter */
  braces: `\${${keyVariable}}`,
  /** Cursor */
  prefix: `\${env:${keyVariable}}`,
  opencode: `{env:${keyVariable}}`,
  /** Continue */
  secret: `\${{ secrets.${keyVariable} }}`,
} as const

/** An entry of a client that speaks HTTP itself; `key` stands for the key, never is it. */
export function httpEntry({ url, keyed }: Settings, type: JsonObject, key: string): JsonObject {
  if (!keyed) return { ...type, url }
  return { ...type, url, headers: { Authorization: `Bearer ${key}` } }
}

/** The same as words of a command. */
export function headerWords({ keyed }: Settings, key: string): string[] {
  return keyed ? ['--header', `Authorization: Bearer ${key}`] : []
}

/** An entry of a client that starts the bridge. */
export function bridgeEntry(bridge: readonly string[]): JsonObject {
  const [command = '', ...args] = bridge
  return { command, args }
}

/** The key for a bridge whose client keeps its own environment from it. */
export function keyInEnvironment({ keyed }: Settings, key: string): JsonObject {
  return keyed ? { env: { [keyVariable]: key } } : {}
}
