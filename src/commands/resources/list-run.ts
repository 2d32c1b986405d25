import { shownUrl } from '../../lib/mcp/bridge/context.ts'
import { writeStdout } from '../../lib/cli/output.ts'
import { jsonLine } from '../../lib/util/text.ts'
import { listAll } from '../../lib/mcp/client/resources.ts'
import { type ClientFlags, withSession } from './client.ts'
import { firstOfEach, fits, resourceTable, templateTable } from './list-table.ts'

/** Prints the resources or the templates of a server. */
export async function runList(
  filter: string | undefined,
  flags: ClientFlags & { templates: boolean; all: boolean },
  env: NodeJS.ProcessEnv,
): Promise<void> {
  await withSession(flags, env, async (session, { limits, output }, signal) => {
    const what = flags.templates ? 'templates' : 'resources'
    const { entries: listed, cut } = await listAll(session, what, limits, signal)
    const entries = filter === undefined ? listed : listed.filter(fits(filter))
    if (flags.json) {
      const member = flags.templates ? 'resourceTemplates' : 'resources'
      const list = { [member]: entries.map(({ raw }) => raw), capped: cut }
      await writeStdout(jsonLine({ list_ok: true, url: shownUrl(session.url), ...list }))
      return
    }
    const url = shownUrl(session.url)
    if (listed.length === 0) output.note(`${url} has no ${what}`)
    else if (entries.length === 0)
      output.note(`none of ${listed.length} ${what} contains "${filter}"`)
    else {
      const { shown, left } = flags.all ? { shown: entries, left: [] } : firstOfEach(entries)
      const table = flags.templates ? templateTable(shown) : resourceTable(shown, Date.now())
      await writeStdout(`${table}\n`)
      for (const { scheme, count } of left) {
        output.note(`… and ${count} more of ${scheme}://; show them with --all`)
      }
    }
    if (cut) output.warn(`only the first ${listed.length} were fetched`)
  })
}
