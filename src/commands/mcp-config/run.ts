import { systemClock } from '../../lib/util/time.ts'
import type { Output } from '../../lib/cli/output.ts'
import { quoteArgument } from '../../lib/cli/format.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import { nearest } from '../../lib/util/text.ts'
import type { Client, ClientFile, Place, Scope, Settings } from '../../lib/mcp/settings/client.ts'
import { clients } from '../../lib/mcp/settings/clients.ts'
import { notesOf } from '../../lib/mcp/settings/entries.ts'
import { type WantedEntry, newSettings } from '../../lib/mcp/settings/merge-settings.ts'
import { type WrittenEntry, writeEntry } from '../../lib/mcp/settings/write-entry.ts'
import { type McpConfigFlags, readSettings } from './settings.ts'

/** The content of the output about one entry. */
interface Report {
  readonly client: Client
  readonly scope: Scope
  readonly file: ClientFile | null
  readonly settings: Settings
  readonly wanted: WantedEntry
  readonly commands: readonly string[]
}

export async function runMcpConfig(
  id: string,
  flags: McpConfigFlags,
  place: Place,
  output: Output,
): Promise<void> {
  const client = clients.find(known => known.id === id)
  if (client === undefined) throw unknownClient(id)
  const { scope } = flags
  const file = client.file(scope, place)
  if (flags.write && file === null) throw noFile(client, scope, place)
  const settings = await readSettings(client, flags, place.env, output)
  const { format, section } = client
  const report: Report = {
    client,
    scope,
    file,
    settings,
    wanted: {
      format,
      section,
      name: settings.name,
      entry: client.entry(settings),
      input: client.input?.(settings) ?? null,
    },
    commands: commandLines(client, settings, scope, place),
  }
  if (!flags.write || file === null) return print(report, place, output)
  await write(report, file, flags.force, output)
}

async function print(report: Report, { platform }: Place, output: Output): Promise<void> {
  const { client, file, wanted, commands } = report
  const place = file === null ? '' : ` in ${file.path} (--write adds it)`
  const isUnknown = client.id === 'claude-desktop' && platform === 'linux'
  output.note(
    isUnknown
      ? 'Claude Desktop is not known on Linux; its entry on other systems:'
      : `For ${client.title}${place}:`,
  )
  await output.result(newSettings(wanted).trimEnd(), described(report))
  if (commands.length > 0) output.note(`Or: ${commands.join('\n    ')}`)
  noteAll(report, output)
}

async function write(
  report: Report,
  file: ClientFile,
  force: boolean,
  output: Output,
): Promise<void> {
  const { scope, wanted } = report
  const parts = { file, wanted, force, isPrivate: scope === 'user', clock: systemClock }
  const written = await writeEntry(parts).catch(error => {
    if (error instanceof ServiceError && error.code !== 'entry_exists') {
      output.note(`The entry to paste:\n${newSettings(wanted).trimEnd()}`)
    }
    throw error
  })
  const { change, path, backup } = written
  await output.result(describeChange(written, wanted), {
    ...described(report),
    file: path,
    change,
    backup,
  })
  noteAll(report, output)
}

function describeChange({ change, path, backup }: WrittenEntry, { name }: WantedEntry): string {
  if (change === 'unchanged') return `unchanged: ${path} already has the entry ${name}`
  const copy = backup === null ? '' : `\nbackup of the old file: ${backup}`
  return `${change} the entry ${name} in ${path}${copy}`
}

function described({ client, scope, file, settings, wanted, commands }: Report): object {
  const { name, url, keyed, bridge } = settings
  return {
    client: client.id,
    scope,
    file: file?.path ?? null,
    format: client.format,
    name,
    url,
    transport: bridge === null ? 'http' : 'stdio',
    auth: keyed ? 'api-key' : 'none',
    section: client.section,
    entry: wanted.entry,
    ...(wanted.input !== null && { input: wanted.input }),
    snippet: newSettings(wanted),
    commands,
    notes: notesOf(client, settings, scope),
  }
}

function noteAll({ client, settings, scope }: Report, output: Output): void {
  for (const note of notesOf(client, settings, scope)) output.note(note)
}

/** Omits commands with a dollar on Windows, where its shells would expand it. */
function commandLines(
  client: Client,
  settings: Settings,
  scope: Scope,
  { platform }: Place,
): string[] {
  return client
    .commands(settings, scope)
    .filter(words => platform !== 'win32' || !words.some(word => word.includes('$')))
    .map(words => words.map(word => quoteArgument(word, platform)).join(' '))
}

function noFile(client: Client, scope: Scope, { platform }: Place): ServiceError {
  return new ServiceError(
    'usage_invalid',
    `settings of ${client.title} cannot be written for --scope ${scope} on ${platform}`,
    { hint: 'omit --write, and paste the printed entry where its documentation says' },
  )
}

function unknownClient(id: string): ServiceError {
  const known = clients.map(client => client.id)
  const meant = nearest(id, known)
  const hint = meant === undefined ? `known clients: ${known.join(', ')}` : `did you mean ${meant}?`
  return usage(`unknown client "${id}"`, hint)
}
