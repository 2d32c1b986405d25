import { keyVariable } from '../../auth/api-key-config.ts'
import type { JsonObject } from '../../util/json.ts'
import type { Client, Scope, Settings } from './client.ts'

/** The syntax for variables in the settings of clients. */
export const expansions = {
  /** Claude Code, Gemini CLI, Qwen Code, Goose, mcporter */
  braces: `\${${keyVariable}}`,
  /** Cursor */
  prefix: `\${env:${keyVariable}}`,
  opencode: `{env:${keyVariable}}`,
  /** Continue */
  secret: `\${{ secrets.${keyVariable} }}`,
} as const

/** An entry for HTTP. `key` is a placeholder, never the key itself. */
export function httpEntry({ url, keyed }: Settings, type: JsonObject, key: string): JsonObject {
  if (!keyed) return { ...type, url }
  return { ...type, url, headers: { Authorization: `Bearer ${key}` } }
}

/** The header as command line arguments. */
export function headerWords({ keyed }: Settings, key: string): string[] {
  return keyed ? ['--header', `Authorization: Bearer ${key}`] : []
}

/** An entry that starts the bridge. */
export function bridgeEntry(bridge: readonly string[]): JsonObject {
  const [command = '', ...args] = bridge
  return { command, args }
}

/** Passes the key to the bridge for clients that do not pass their environment on. */
export function keyInEnvironment({ keyed }: Settings, key: string): JsonObject {
  return keyed ? { env: { [keyVariable]: key } } : {}
}

/** Remarks for the user of the client. */
export function notesOf(client: Client, settings: Settings, scope: Scope): readonly string[] {
  const { title, note, projectNote, keyNotes = () => [needsVariable(title)] } = client
  return [
    ...(note === undefined ? [] : [note]),
    ...(projectNote === undefined || scope !== 'project' ? [] : [projectNote]),
    ...(settings.keyed ? keyNotes(settings) : []),
  ]
}

/** For a client whose entry refers to the variable, or whose bridge inherits it. */
export function needsVariable(title: string): string {
  return `${title} needs ${keyVariable} in its environment: start it where that is set.`
}
