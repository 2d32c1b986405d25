import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { readRegistryDir } from './server-settings.ts'

/** Checks the machine. */
export default class Doctor extends BaseCommand {
  static override summary = 'Check this machine and suggest fixes'

  static override description = `Checks Node, the state directory, the saved login, the variables, \
the keys, the ports of the servers, every running instance (whether it answers, whether a \
subscription works), invalid records, whether windows can be captured, and the adapters. It also \
sends a change from a scene to a client, in a temporary server.

It changes nothing and shows no secret. The exit code is 1 when a check failed; warnings do not count.`

  static override examples = [
    { description: 'check everything', command: '<%= config.bin %> doctor' },
    { description: 'for a script', command: '<%= config.bin %> doctor --json' },
  ]

  static override flags = {
    'registry-dir': Flags.string({ description: 'state directory', helpValue: 'DIR' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Doctor)
    const registryDir = readRegistryDir(flags, process.env)
    const { examine } = await import('./doctor/examine.ts')
    const { json } = flags
    if (!(await examine({ registryDir, json, env: process.env }))) process.exitCode = 1
  }
}
