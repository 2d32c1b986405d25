import { shownUrl } from '../../lib/stdio-bridge/target.ts'
import { writeStdout } from '../../lib/cli/write-stdout.ts'
import { listAll } from '../../lib/mcp-client/resources.ts'
import { type ClientFlags, withSession } from './client.ts'
import { resourceTable, templateTable } from './list-lines.ts'

/** Prints what a server has, or what its addresses are made of. */
export async function runList(
  flags: ClientFlags & { templates: boolean },
  env: NodeJS.ProcessEnv,
): Promise<void> {
  await withSession(flags, env, async (session, { limits, output }, signal) => {
    const what = flags.templates ? 'templates' : 'resources'
    const { entries, cut } = await listAll(session, what, limits, signal)
    if (flags.json) {
      const member = flags.templates ? 'resourceTemplates' : 'resources'
      const list = { [member]: entries.map(({ raw }) => raw), capped: cut }
      await writeStdout(
        `${JSON.stringify({ list_ok: true, url: shownUrl(session.url), ...list })}\n`,
      )
      return
    }
    if (entries.length === 0) output.note(`${shownUrl(session.url)} has no ${what}`)
    else {
      const table = flags.templates ? templateTable(entries) : resourceTable(entries, Date.now())
      await writeStdout(`${table}\n`)
    }
    if (cut) output.warn(`only the first ${entries.length} are shown`)
  })
}
