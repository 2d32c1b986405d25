import { type ClientEntry, clientEntries } from '../build-facts.ts'
import { type ClientRow, lastDone } from '../live/clients.ts'
import type { Live } from '../live/live.ts'
import { entryName } from '../../src/lib/mcp/entry-name.ts'
import { Ago, Copyable } from '../parts/small.tsx'

/** How to connect each AI client, and whether it really has read something. */
export function ConnectScreen({ live }: { live: Live }) {
  const rows = live.clients.value
  const isKeyed = live.login?.needsKey.value === true
  return (
    <>
      <h2 class="title">Connect your AI</h2>
      <p>
        Address of this server: <code>{mcpUrl}</code>
      </p>
      {isKeyed && (
        <p>
          This server asks for a key: put it into <code>SERVICE_MCP_API_KEY</code>, from which the
          lines below take it.
        </p>
      )}
      <ul class="grid">
        {clientEntries.map(entry => (
          <Entry
            key={entry.id}
            entry={entry}
            name={nameFor(live)}
            isKeyed={isKeyed}
            // A caller that may only read is not told who is connected.
            rows={
              entry.id === 'generic'
                ? null
                : rows && rows.filter(({ name }) => isNameOf(entry.id, name))
            }
          />
        ))}
      </ul>
    </>
  )
}

const mcpUrl = `${location.origin}/mcp`

function nameFor(live: Live): string {
  if (live.carrier.schemes.value.has('gateway')) return 'service-gateway'
  const type = live.scene.meta.value?.application?.dcc_type ?? 'unknown'
  return entryName(type)
}

interface EntryProps {
  readonly entry: ClientEntry
  readonly name: string
  readonly isKeyed: boolean
  /** Of this client; null: not known, as of the clients that have no entry of their own. */
  readonly rows: readonly ClientRow[] | null
}

function Entry({ entry, name, isKeyed, rows }: EntryProps) {
  const fill = (text: string) => text.replaceAll('{name}', name).replaceAll('{url}', mcpUrl)
  const { command, settings, notes, flags } = isKeyed ? entry.keyed : entry.open
  return (
    <li class="card">
      <details>
        <summary>
          <strong>{entry.title}</strong> <Seen rows={rows} />
        </summary>
        {entry.file !== null && entry.isWritten && (
          <Copyable
            label={`Command that writes the settings of ${entry.title}`}
            text={`service-cli mcp-config ${entry.id} --write --url ${mcpUrl} --name ${name}${flags}`}
          />
        )}
        {command !== null && <Copyable label={`Command of ${entry.title}`} text={fill(command)} />}
        <p>
          {entry.file === null ? 'The settings:' : 'Or add to '}
          {entry.file !== null && <code>{entry.file}</code>}
        </p>
        <Copyable label={`Settings of ${entry.title}`} text={fill(settings)} />
        {notes.map(note => (
          <p class="quiet">{note}</p>
        ))}
      </details>
    </li>
  )
}

function Seen({ rows }: Pick<EntryProps, 'rows'>) {
  if (rows === null) return null
  if (rows.length === 0) return <span class="quiet">not connected</span>
  const done = lastDone(rows)
  if (done === undefined) return <span class="quiet">connected, has read nothing yet</span>
  return (
    <span class="seen">
      ✓ {done.what} <Ago at={done.at} />
    </span>
  )
}

/** How the names in `clientInfo` begin; of other clients, with the first word of their id. */
const names: Readonly<Record<string, string>> = {
  'claude-code': 'claude[- ]code',
  'claude-desktop': 'claude[- ](ai|desktop)',
  vscode: 'visual studio code|vscode',
}

function isNameOf(id: string, name: string): boolean {
  return new RegExp(`\\b(${names[id] ?? id.split('-')[0]})`, 'i').test(name)
}
