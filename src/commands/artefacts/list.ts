import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from '../resources/endpoint-flags.ts'
import { parseArtefactUri } from '../../lib/mcp/uris.ts'
import { cleanText, jsonLine } from '../../lib/util/text.ts'
import { columns } from '../../lib/cli/format.ts'
import { expiryText, sizeText } from '../../lib/util/amounts.ts'
import { writeStdout } from '../../lib/cli/output.ts'
import { parseRfc3339 } from '../../lib/util/time.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import type { Listed } from '../../lib/mcp/client/ask.ts'
import { listAll } from '../../lib/mcp/client/resources.ts'
import { shownUrl } from '../../lib/mcp/bridge/context.ts'
import { type ClientFlags, withSession } from '../resources/client.ts'
import { ageText } from '../resources/list-table.ts'

/** Lists artefacts. */
export default class ArtefactsList extends BaseCommand {
  static override summary = 'List stored files, newest first'

  static override description = `Lists the artefacts of your running service-cli serve, or of the MCP \
endpoint at --url: start of the SHA-256, name, type, size and expiry.

Environment: SERVICE_MCP_API_KEY (the API key), SERVICE_REGISTRY_DIR.`

  static override examples = [
    { description: 'the running instance', command: '<%= config.bin %> artefacts list' },
    {
      description: 'the newest one',
      command: `<%= config.bin %> artefacts list --json | jq -r '.artefacts[0].uri'`,
    },
  ]

  static override flags = endpointFlags

  override async run(): Promise<void> {
    const { flags } = await this.parse(ArtefactsList)
    await runArtefactsList(flags, process.env)
  }
}

/** Prints the artefacts of a server, newest first. */
async function runArtefactsList(flags: ClientFlags, env: NodeJS.ProcessEnv): Promise<void> {
  await withSession(flags, env, async (session, { limits, output }, signal) => {
    const { entries, cut } = await listAll(session, 'resources', limits, signal)
    const artefacts = entries.filter(({ uri }) => parseArtefactUri(uri) !== null)
    if (flags.json) {
      const list = { artefacts: artefacts.map(jsonOf), capped: cut }
      await writeStdout(jsonLine({ list_ok: true, url: shownUrl(session.url), ...list }))
      return
    }
    if (artefacts.length === 0) output.note(`${shownUrl(session.url)} has no artefacts`)
    else await writeStdout(`${artefactTable(artefacts, Date.now())}\n`)
    if (cut) output.warn(`only the first ${artefacts.length} are shown`)
  })
}

/** Twelve digits identify an artefact in all commands. */
const shortChars = 12

export function artefactTable(entries: Listed[], nowMs: number): string {
  return columns(
    ['SHA256', 'NAME', 'TYPE', 'SIZE', 'STORED', 'EXPIRES'],
    entries.map(entry => [
      hexOf(entry).slice(0, shortChars),
      entry.name === hexOf(entry) ? '' : cleanText(entry.name, 60),
      cleanText(entry.mimeType ?? '', 40),
      entry.size === null ? '' : sizeText(entry.size),
      ageText(entry.modified, nowMs),
      expires(entry, nowMs),
    ]),
    { drop: ['EXPIRES', 'TYPE', 'STORED', 'SIZE'] },
  )
}

function hexOf({ uri }: Listed): string {
  return parseArtefactUri(uri) ?? ''
}

function sidecarOf({ raw }: Listed): JsonObject {
  const meta = isJsonObject(raw._meta) ? raw._meta['service-cli/artefact'] : null
  return isJsonObject(meta) ? meta : {}
}

function expires(entry: Listed, nowMs: number): string {
  const { expires_at: text } = sidecarOf(entry)
  const timeMs = typeof text === 'string' ? parseRfc3339(text) : null
  return timeMs === null ? '' : expiryText(timeMs, nowMs).replace(/^expires /, '')
}

function jsonOf(entry: Listed): object {
  const { uri, name, mimeType, size, modified } = entry
  const shown = { uri, sha256: hexOf(entry), display_name: name, mime: mimeType, size_bytes: size }
  return { ...sidecarOf(entry), ...shown, created_at: modified }
}
