import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { hasColour, processOutput, terminalWidth } from '../lib/cli/output.ts'
import { reportText } from './doctor/finding.ts'
import { readJoinToken } from './join-token.ts'
import { readStateDirectory, registryDirFlag } from './path-flags.ts'

export default class Doctor extends BaseCommand {
  static override summary = 'Check this machine and suggest fixes'
  static override description = `Checks Node, the state directory, the keys, every running instance \
(whether it answers, whether its application is connected), the gateways that they join, with their \
certificates, whether windows can be captured, and Blender.

It changes nothing and shows no secret. The exit code is 1 when a check failed; warnings do not count.`
  static override examples = [
    '<%= config.bin %> doctor',
    '<%= config.bin %> doctor --join-token-file ~/.config/join.token',
    '<%= config.bin %> doctor --json',
  ]

  static override flags = {
    ...registryDirFlag,
    'join-token-file': Flags.string({
      description: 'token of serve --join; overrides SERVICE_JOIN_TOKEN',
      helpValue: 'FILE',
    }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Doctor)
    const { env } = process
    const registryDir = readStateDirectory(flags, env)
    const { examine } = await import('./doctor/examine.ts')
    const checks = await examine(registryDir, readJoinToken(flags, env), env)
    const ok = checks.every(({ status }) => status !== 'fail')
    const { stdout } = process
    const text = reportText(checks, hasColour(stdout), terminalWidth(stdout))
    await processOutput(flags).result(text, { ok, checks })
    if (!ok) process.exitCode = 1
  }
}
