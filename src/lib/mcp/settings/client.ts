import type { JsonObject } from '../../util/json.ts'

/** What an entry leads to, and how. */
export interface Settings {
  /** Of the entry. */
  readonly name: string
  readonly url: string
  /** The server asks for an API key, which the client has in its environment. */
  readonly keyed: boolean
  /** The words that start `service-cli connect`; null: the client speaks HTTP itself. */
  readonly bridge: readonly string[] | null
}

export const scopes = ['user', 'project'] as const
/** Every project of a person, or the folder the command runs in. */
export type Scope = (typeof scopes)[number]

/** The machine and the person whose files are meant. */
export interface Place {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly cwd: string
}

export interface ClientFile {
  readonly path: string
  /** The folder that is taken as it is; those below it, down to the file, must be no symlinks. */
  readonly root: string
  /** Read in its place, the first that exists, when it does not. */
  readonly instead?: readonly ClientFile[]
}

/** One program that speaks MCP, and how it is told of a server. */
export interface Client {
  readonly id: string
  readonly title: string
  /**
   * `json` where the program itself rejects comments. The two of YAML are printed and never
   * written; `yaml-list` has a list of entries that hold their names.
   */
  readonly format: 'json' | 'jsonc' | 'toml' | 'yaml' | 'yaml-list'
  /** The member that holds the entries by name. */
  readonly section: string
  /** Its entry always starts a program: it opens no connections, or does not restore them. */
  readonly stdioOnly?: boolean
  /** Null when it has no such file, or where that is was never said by its maker. */
  file(scope: Scope, place: Place): ClientFile | null
  entry(settings: Settings): JsonObject
  /** A question to the person that the entry refers to. */
  input?(settings: Settings): JsonObject | null
  /** Command lines that do the same, or use it. */
  commands(settings: Settings, scope: Scope): readonly (readonly string[])[]
  /** What a person must know or do. */
  notes(settings: Settings, scope: Scope): readonly string[]
}
