import { unescape } from 'node:querystring'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { extensionOf, safeFileName } from '../../lib/cli/file-name.ts'
import { freeName, writeOutputFile } from '../../lib/cli/output-file.ts'
import { type Output, writeStdout } from '../../lib/cli/output.ts'
import {
  type Contents,
  isJsonType,
  readResource,
  staleReason,
} from '../../lib/mcp/client/resources.ts'
import { isPast } from '../../lib/mcp/unconfirmed.ts'
import { isArtefactHex } from '../../lib/mcp/artefact-uri.ts'
import { sizeText } from '../../lib/util/amounts.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import { parseJson } from '../../lib/util/json.ts'
import { cleanLines, cleanText, jsonLine } from '../../lib/util/text.ts'
import { withServer } from './client.ts'
import { endpointFlags } from '../endpoint-flags.ts'

export default class ResourcesRead extends BaseCommand {
  static override summary = 'Read a resource: show text, save anything else to a file'
  static override description = `Reads a resource of your running service-cli serve, or of the MCP \
endpoint at --url. A terminal shows indented JSON, and binary data is saved to a new file in the \
working folder; a pipe or a file gets exactly the bytes that the server sent.`
  static override examples = [
    '<%= config.bin %> resources read scene://current',
    '<%= config.bin %> resources read capture://current_window --out window.png',
    '<%= config.bin %> resources read scene://current | jq .selection',
    '<%= config.bin %> resources read audit://recent --json',
  ]

  static override args = {
    uri: Args.string({ description: 'URI as listed', required: true, ignoreStdin: true }),
  }

  static override flags = {
    out: Flags.string({
      description: 'write into this file; - is stdout, for binary data too',
      helpValue: 'FILE',
      exclusive: ['json'],
    }),
    force: Flags.boolean({ description: 'replace the file of --out' }),
    ...endpointFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ResourcesRead)
    await withServer(flags, async (server, output) => {
      const { contents, raw } = await readResource(server, args.uri)
      if (flags.json) return writeStdout(jsonLine(raw))
      await show(contents, flags, output)
      for (const { meta } of isPast(args.uri) ? [] : contents) {
        const stale = staleReason(meta)
        if (stale !== null) output.note(cleanText(stale, 200))
      }
    })
  }
}

async function show(
  contents: readonly Contents[],
  { out, force }: { out?: string; force: boolean },
  output: Output,
): Promise<void> {
  if (out !== undefined && out !== '-') {
    const bytes = Buffer.concat(contents.map(({ content }) => Buffer.from(content)))
    await writeOutputFile(out, bytes, { force })
    return output.note(`saved ${describe(bytes, contents[0]?.mimeType)} to ${out}`)
  }
  for (const { uri, mimeType, content } of contents) {
    if (!process.stdout.isTTY || (out === '-' && typeof content !== 'string')) {
      await writeStdout(content)
    } else if (typeof content === 'string') {
      await writeStdout(screenText(content, mimeType))
    } else {
      const file = await freeName(nameOfUri(uri, mimeType))
      await writeOutputFile(file, content, { force: false })
      output.note(`saved ${describe(content, mimeType)} to ${file}`)
    }
  }
}

/** Removes control characters: text from a server must not change the terminal. */
function screenText(text: string, mimeType: string | null): string {
  const parsed = isJsonType(mimeType) ? parseJson(text, 200, parseExact) : null
  const clean = cleanLines(parsed?.ok ? JSON.stringify(parsed.value, null, 2) : text)
  return clean.endsWith('\n') || clean === '' ? clean : `${clean}\n`
}

function describe({ length }: Buffer, mimeType: string | null | undefined): string {
  return `${sizeText(length)} of ${cleanText(mimeType ?? 'data', 80)}`
}

/** `camera.png` for `capture://camera`, `3fa1b2c4d5e6.png` for an artefact. */
function nameOfUri(uri: string, mimeType: string | null): string {
  const path = uri.split(/[?#]/, 1)[0] ?? ''
  const last = path.split('/').findLast(part => part !== '' && !part.endsWith(':')) ?? ''
  const name = safeFileName(isArtefactHex(last) ? last.slice(0, 12) : unescape(last)) ?? 'resource'
  return /\.[a-z0-9]{1,8}$/i.test(name) ? name : `${name}${extensionOf(mimeType)}`
}
