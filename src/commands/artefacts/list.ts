import { BaseCommand } from '../../lib/cli/base-command.ts'
import { columns } from '../../lib/cli/format.ts'
import { writeStdout } from '../../lib/cli/output.ts'
import { shownUrl } from '../../lib/util/net.ts'
import type { Listed } from '../../lib/mcp/client/resources.ts'
import { parseArtefactUri } from '../../lib/mcp/artefact-uri.ts'
import { ageText, expiryText, sizeText } from '../../lib/util/amounts.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import { cleanText, jsonLine } from '../../lib/util/text.ts'
import { parseRfc3339 } from '../../lib/util/time.ts'
import { withServer } from '../resources/client.ts'
import { endpointFlags } from '../endpoint-flags.ts'
import { listArtefacts } from './find-artefact.ts'

export default class ArtefactsList extends BaseCommand {
  static override summary = 'List stored files, newest first'
  static override description = `Lists the artefacts of your running service-cli serve, or of the MCP \
endpoint at --url: start of the SHA-256, name, type, size and expiry. \
"by limit": the server removes it by its limit artefactTtlMs, 30 days unless that was changed.`
  static override examples = [
    '<%= config.bin %> artefacts list',
    `<%= config.bin %> artefacts list --json | jq -r '.artefacts[0].uri'`,
  ]

  static override flags = endpointFlags

  override async run(): Promise<void> {
    const { flags } = await this.parse(ArtefactsList)
    await withServer(flags, async (server, output) => {
      const artefacts = (await listArtefacts(server)).flatMap(artefactOf)
      const url = shownUrl(server.url)
      if (flags.json) return writeStdout(jsonLine({ list_ok: true, url, artefacts }))
      if (artefacts.length === 0) output.note(`${url} has no artefacts`)
      else await writeStdout(`${artefactTable(artefacts)}\n`)
    })
  }
}

/** An artefact with what the server keeps beside it; empty for another resource. */
function artefactOf({ uri, name, mimeType, size, modified, raw }: Listed) {
  const sha256 = parseArtefactUri(uri)
  if (sha256 === null) return []
  const { 'service-cli/artefact': found } = isJsonObject(raw._meta) ? raw._meta : {}
  const sidecar = isJsonObject(found) ? found : {}
  const { expires_at } = sidecar
  const known = { uri, sha256, display_name: name, mime: mimeType, size_bytes: size }
  return [{ ...sidecar, ...known, created_at: modified, expires_at }]
}

function artefactTable(artefacts: ReturnType<typeof artefactOf>): string {
  const rows = artefacts.map(({ sha256, display_name: name, mime, size_bytes: size, ...times }) => [
    // Twelve digits identify an artefact in all commands.
    sha256.slice(0, 12),
    name === sha256 ? '' : cleanText(name, 60),
    cleanText(mime ?? '', 40),
    size === null ? '' : sizeText(size),
    ageText(times.created_at),
    untilText(times.expires_at),
  ])
  const names = ['SHA256', 'NAME', 'TYPE', 'SIZE', 'STORED', 'EXPIRES']
  return columns(names, rows, { drop: ['EXPIRES', 'TYPE', 'STORED', 'SIZE'] })
}

/** `in 2 h`; an artefact without an expiry of its own has that of the server's limit. */
function untilText(time: unknown): string {
  const timeMs = typeof time === 'string' ? parseRfc3339(time) : null
  return timeMs === null ? 'by limit' : expiryText(timeMs, Date.now()).replace(/^expires /, '')
}
