import type { JsonObject } from '../../util/json.ts'

/** The content of an entry, independent of the client. */
export interface Settings {
  /** The name of the entry. */
  readonly name: string
  readonly url: string
  /** The server requires an API key, which the client has in its environment. */
  readonly keyed: boolean
  /** The command line of `service-cli connect`; null when the client uses HTTP. */
  readonly bridge: readonly string[] | null
}

export const scopes = ['user', 'project'] as const
/** All projects of the user, or the working folder. */
export type Scope = (typeof scopes)[number]

/** The machine and the user. */
export interface Place {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly cwd: string
}

export interface ClientFile {
  readonly path: string
  /** A trusted folder; nothing below it on the way to the file may be a symlink. */
  readonly root: string
  /** Alternatives when the file does not exist; the first existing one is used. */
  readonly instead?: readonly ClientFile[]
}

/** An MCP client and the format of its settings. */
export interface Client {
  readonly id: string
  readonly title: string
  /**
   * `json` when the client rejects comments. YAML is printed and never written; in `yaml-list` the
   * entries form a list and contain their names.
   */
  readonly format: 'json' | 'jsonc' | 'toml' | 'yaml' | 'yaml-list'
  /** The member that holds the entries by name. */
  readonly section: string
  /** The client cannot use HTTP, or does not reconnect: always start the bridge. */
  readonly stdioOnly?: boolean
  /** Null when the client has no such file or does not document it. */
  file(scope: Scope, place: Place): ClientFile | null
  entry(settings: Settings): JsonObject
  /** A prompt for the user that the entry refers to. */
  input?(settings: Settings): JsonObject | null
  /** Command lines that create or use the entry. */
  commands(settings: Settings, scope: Scope): readonly (readonly string[])[]
  /** A remark for the user. */
  readonly note?: string
  /** A remark for the user about the settings of a project. */
  readonly projectNote?: string
  /** How the client gets the key. Default: from its environment. */
  keyNotes?(settings: Settings): readonly string[]
}
