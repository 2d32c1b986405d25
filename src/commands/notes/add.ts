import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from '../resources/endpoint-flags.ts'
import { byFlag } from './by-flag.ts'

/** Makes a note. */
export default class NotesAdd extends BaseCommand {
  static override summary = 'Make a note about the open document'

  static override description = `Makes a note about the document that is open in the application, for \
an agent to act on. Agents that wait for notes://open are told.

Environment: SERVICE_HOST_URL with SERVICE_HOST_TOKEN (instead of the running instance),
SERVICE_REGISTRY_DIR.`

  static override examples = [
    {
      description: 'about one object',
      command: '<%= config.bin %> notes add "Too bright" --object Lamp',
    },
  ]

  static override args = {
    text: Args.string({ description: 'what you want', required: true, ignoreStdin: true }),
  }

  static override flags = {
    object: Flags.string({
      description: 'id of an object that it is about; may be repeated',
      helpValue: 'ID',
      multiple: true,
    }),
    by: byFlag,
    ...endpointFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(NotesAdd)
    const { runAdd } = await import('./run.ts')
    await runAdd(args.text, flags, process.env)
  }
}
