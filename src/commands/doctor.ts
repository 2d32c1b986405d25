import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { hasColour, terminalWidth, writeStdout } from '../lib/cli/output.ts'
import { jsonLine } from '../lib/util/text.ts'
import { readJoinToken } from './join-token.ts'
import { readStateDirectory } from './path-flags.ts'

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
    'registry-dir': Flags.string({ description: 'state directory', helpValue: 'DIR' }),
    'join-token-file': Flags.string({
      description: 'token of serve --join; overrides SERVICE_JOIN_TOKEN',
      helpValue: 'FILE',
    }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Doctor)
    const { env } = process
    const registryDir = readStateDirectory(flags, env)
    const [{ examine }, { anyFailed, reportText }] = await Promise.all([
      import('./doctor/examine.ts'),
      import('./doctor/finding.ts'),
    ])
    const findings = await examine(registryDir, readJoinToken(flags, env), env)
    const { stdout } = process
    const ok = !anyFailed(findings)
    await writeStdout(
      flags.json
        ? jsonLine({ ok, checks: findings })
        : `${reportText(findings, hasColour(stdout), terminalWidth(stdout))}\n`,
    )
    if (!ok) process.exitCode = 1
  }
}
