/** Facts that the build puts in: see scripts/build-page.js. */
declare const SERVICE_VERSION: string
declare const SERVICE_CLIENTS: Readonly<Record<Platform, readonly ClientEntry[]>>

type Platform = 'linux' | 'darwin' | 'win32'

/** How an AI client is told of a server; `{name}` and `{url}` stand for its name and address. */
export interface ClientEntry {
  readonly id: string
  readonly title: string
  /** Where the settings are; null: the client does not document it. */
  readonly file: string | null
  /** `mcp-config --write` writes it. */
  readonly isWritten: boolean
  readonly open: EntryForm
  /** For a server that asks for a key. */
  readonly keyed: EntryForm
}

interface EntryForm {
  /** The client's own command that adds the entry; null: it has none. */
  readonly command: string | null
  readonly settings: string
  readonly notes: readonly string[]
  /** Further flags of `mcp-config`, each with a space before it. */
  readonly flags: string
}

export const version = SERVICE_VERSION
/** For the machine of the browser. */
export const clientEntries = SERVICE_CLIENTS[platformOf(navigator.userAgent)]

function platformOf(userAgent: string): Platform {
  if (userAgent.includes('Macintosh')) return 'darwin'
  return userAgent.includes('Windows') ? 'win32' : 'linux'
}
