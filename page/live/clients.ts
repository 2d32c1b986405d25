import type { ClientTable } from '../../src/server/mcp/client-table.ts'
import { type Carrier, McpError, readJson } from '../mcp/carrier.ts'

export const clientsUri = 'server://clients'

/** A row of `server://clients`. */
export type ClientRow = ReturnType<ClientTable['rows']>[number]

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

/** What these clients did last; undefined: nothing yet. */
export function lastDone(rows: readonly ClientRow[]) {
  const done = rows.flatMap(({ last_read, last_call }) => [
    ...(last_call ? [{ at: last_call.at, what: callWords(last_call.tool) }] : []),
    ...(last_read ? [{ at: last_read.at, what: readWords(last_read.uri) }] : []),
  ])
  return done.toSorted((a, b) => (a.at < b.at ? 1 : -1))[0]
}

const byTool = new Map([
  ['look', 'looked at the picture'],
  ['query_scene', 'asked about the scene'],
  ['scene_changes', 'asked what changed'],
  ['wait_for_change', 'waited for a change'],
  ['list_notes', 'read the notes'],
  ['answer_note', 'answered a note'],
  ['list_resources', 'listed what there is'],
  ['read_resource', 'read a resource'],
])

const byScheme = new Map([
  ['capture', 'looked at the picture'],
  ['scene', 'read the scene'],
  ['artefact', 'read a file'],
  ['notes', 'read the notes'],
  ['gateway', 'read the list of instances'],
])

function callWords(tool: string): string {
  return byTool.get(tool) ?? `called ${tool}`
}

function readWords(uri: string): string {
  if (uri.startsWith('scene://delta')) return 'asked what changed'
  return byScheme.get(uri.slice(0, uri.indexOf(':'))) ?? `read ${uri}`
}
