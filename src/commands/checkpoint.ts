import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { hostEnvironment, instanceFlags } from './resources/endpoint-flags.ts'

/** Keeps the scene under a name. */
export default class Checkpoint extends BaseCommand {
  static override summary = 'Keep the scene as it is now under a name'

  static override description = `Keeps the scene of the open document under a name, so \
that scene://delta?since=NAME tells what changed since then, also after a restart. It keeps what \
clients can read of the scene, not the document itself: nothing can be restored from it. A \
document has at most 64. \`resources read scene://checkpoints\` lists them.

${hostEnvironment}`

  static override examples = [
    {
      description: 'before the lights are set',
      command: '<%= config.bin %> checkpoint before-lights',
    },
    {
      description: 'what changed since',
      command: '<%= config.bin %> resources read "scene://delta?since=before-lights"',
    },
  ]

  static override args = {
    name: Args.string({
      description: 'up to 64 letters, digits, spaces, ".", "_", "-", with at least one letter',
      required: true,
      ignoreStdin: true,
    }),
  }

  static override flags = {
    remove: Flags.boolean({ description: 'remove the checkpoint of this name' }),
    ...instanceFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Checkpoint)
    const { runCheckpoint } = await import('./checkpoint/run.ts')
    await runCheckpoint(args.name, flags, process.env)
  }
}
