import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { columns } from '../../lib/cli/format.ts'
import { writeStdout } from '../../lib/cli/output.ts'
import { shownUrl } from '../../lib/util/net.ts'
import { type Listed, listResources } from '../../lib/mcp/client/resources.ts'
import { ageText, sizeText } from '../../lib/util/amounts.ts'
import { cleanText, jsonLine } from '../../lib/util/text.ts'
import { withServer } from './client.ts'
import { endpointFlags } from '../endpoint-flags.ts'

/** Rows shown per scheme without --all. */
const maxOfScheme = 12

export default class ResourcesList extends BaseCommand {
  static override summary = 'List the resources of a running server'
  static override description = `Lists the resources of your running service-cli serve, or of the MCP \
endpoint at --url: name, type, size, last change and URI. Shows only the first resources of a scheme \
with many; --all shows every one. Omits columns that do not fit the terminal; --json has them.`
  static override examples = [
    '<%= config.bin %> resources list',
    '<%= config.bin %> resources list lamp --all',
    `<%= config.bin %> resources list --json | jq -r '.resources[].uri'`,
    '<%= config.bin %> resources list --templates',
    '<%= config.bin %> resources list --url http://127.0.0.1:9765/mcp',
  ]

  static override args = {
    filter: Args.string({
      ignoreStdin: true,
      description: 'text to find in name or URI, case-insensitive',
    }),
  }

  static override flags = {
    all: Flags.boolean({ char: 'a', description: 'show every resource of every scheme' }),
    templates: Flags.boolean({ description: 'list templates instead of resources' }),
    ...endpointFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ResourcesList)
    const { filter = '' } = args
    const { templates, all, json } = flags
    await withServer(flags, async (server, output) => {
      const member = templates ? 'resourceTemplates' : 'resources'
      const listed = await listResources(server, member, what => output.warn(what))
      const wanted = filter.toLowerCase()
      const entries = listed.filter(({ uri, name, title }) =>
        [uri, name, title].some(text => text?.toLowerCase().includes(wanted)),
      )
      const url = shownUrl(server.url)
      if (json) {
        const raw = entries.map(entry => entry.raw)
        return writeStdout(jsonLine({ list_ok: true, url, [member]: raw }))
      }
      const what = templates ? 'templates' : 'resources'
      if (listed.length === 0) return output.note(`${url} has no ${what}`)
      if (entries.length === 0) {
        return output.note(`none of ${listed.length} ${what} contains "${filter}"`)
      }
      const schemes = Map.groupBy(entries, ({ uri }) => cleanText(uri.split(':', 1)[0] ?? '', 40))
      const most = all ? Infinity : maxOfScheme
      const shown = [...schemes.values()].flatMap(same => same.slice(0, most))
      await writeStdout(`${tableOf(shown, templates)}\n`)
      for (const [scheme, { length }] of schemes) {
        if (length <= most) continue
        output.note(`… and ${length - most} more of ${scheme}://; show them with --all`)
      }
    })
  }
}

/** The URI is the last column because it may be long. */
function tableOf(entries: Listed[], isOfTemplates: boolean): string {
  const rows = entries.map(({ title, name, mimeType, size, modified, uri }) => {
    const cells = [cleanText(title ?? name, 40), cleanText(mimeType ?? '', 40)]
    if (!isOfTemplates) cells.push(size === null ? '' : sizeText(size), ageText(modified))
    return [...cells, cleanText(uri, 2048)]
  })
  const names = isOfTemplates
    ? ['NAME', 'TYPE', 'TEMPLATE']
    : ['NAME', 'TYPE', 'SIZE', 'MODIFIED', 'URI']
  return columns(names, rows, { drop: ['MODIFIED', 'SIZE', 'TYPE', 'NAME'] })
}
