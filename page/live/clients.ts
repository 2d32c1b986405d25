import { type Carrier, McpError, readJson } from '../mcp/carrier.ts'

export const clientsUri = 'server://clients'

/** A row of `server://clients`. */
export interface ClientRow {
  readonly name: string
  readonly version: string
  readonly principal?: string
  readonly last_seen_at: string
  readonly last_read?: { readonly at: string; readonly uri: string }
  readonly last_call?: { readonly at: string; readonly tool: string }
}

/** The clients of one name, which people take for one. */
export interface ClientGroup {
  readonly name: string
  readonly count: number
  /** What one of them did last; null: nothing yet. */
  readonly done: Done | null
}

export function groupByName(rows: readonly ClientRow[]): readonly ClientGroup[] {
  return [...Map.groupBy(rows, ({ name }) => name)].map(([name, alike]) => ({
    name,
    count: alike.length,
    done: lastDone(alike),
  }))
}

/** Who uses the server, without its live pages; null: a key that may only read is not told. */
export async function readClients(carrier: Carrier): Promise<readonly ClientRow[] | null> {
  try {
    const { clients } = await readJson<{ clients: ClientRow[] }>(carrier, clientsUri)
    return clients.filter(({ name }) => name !== pageName)
  } catch (error) {
    if (error instanceof McpError) return null
    throw error
  }
}

const pageName = 'service-page'

/** What these clients did last. */
export function lastDone(rows: readonly ClientRow[]): Done | null {
  const done = rows.flatMap(({ last_read, last_call }) => [
    ...(last_call ? [{ at: last_call.at, what: callWords(last_call.tool) }] : []),
    ...(last_read ? [{ at: last_read.at, what: readWords(last_read.uri) }] : []),
  ])
  return done.toSorted((a, b) => (a.at < b.at ? 1 : -1))[0] ?? null
}

export interface Done {
  readonly at: string
  readonly what: string
}

const tools: Readonly<Record<string, string>> = {
  look: 'looked at the picture',
  query_scene: 'asked about the scene',
  scene_changes: 'asked what changed',
  wait_for_change: 'waited for a change',
  list_notes: 'read the notes',
  answer_note: 'answered a note',
  list_resources: 'listed what there is',
  read_resource: 'read a resource',
}

function callWords(tool: string): string {
  return Object.hasOwn(tools, tool) ? tools[tool]! : `called ${tool}`
}

function readWords(uri: string): string {
  if (uri.startsWith('capture://')) return 'looked at the picture'
  if (uri.startsWith('scene://delta')) return 'asked what changed'
  if (uri.startsWith('scene://')) return 'read the scene'
  if (uri.startsWith('artefact://')) return 'read a file'
  if (uri.startsWith('notes://')) return 'read the notes'
  if (uri.startsWith('audit://')) return 'read what was done'
  if (uri.startsWith('events://')) return 'read the events of a session'
  if (uri.startsWith('gateway://')) return 'read the list of instances'
  if (uri.startsWith('server://')) return 'read who is connected'
  return `read ${uri}`
}
