import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { hostEnvironment, instanceFlags } from './resources/endpoint-flags.ts'

/** Shows a link to the live page. */
export default class Page extends BaseCommand {
  static override summary = 'Print a link to the live page of a running server'

  static override description = `Prints a link that logs one browser in to the live page: what your AI \
can see, what changed, notes and files. It works once, for five minutes; the login lasts 12 hours, \
and no longer than the server. A browser that is logged in needs no new link.

${hostEnvironment}`

  static override examples = [
    { description: 'of your only running server', command: '<%= config.bin %> page' },
    { description: 'in the browser at once', command: '<%= config.bin %> page --open' },
  ]

  static override flags = {
    open: Flags.boolean({ description: 'open the link in your browser instead of printing it' }),
    ...instanceFlags,
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Page)
    const { runPage } = await import('./page/run.ts')
    await runPage(flags, process.env)
  }
}
