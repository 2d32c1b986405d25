import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { ApiKeyConfig } from '../lib/auth/api-key-config.ts'
import { Secret } from '../lib/util/secret.ts'
import { readGatewayUrl, readJoinToken } from './join-token.ts'
import { readRegistryDir } from './server-settings.ts'

/** Checks the machine. */
export default class Doctor extends BaseCommand {
  static override summary = 'Check this machine and suggest fixes'

  static override description = `Checks Node, the state directory, the saved login, the variables, \
the keys, the ports of the servers, every running instance (whether it answers, whether a \
subscription works), invalid records, whether windows can be captured, and the adapters. It also \
sends a change from a scene to a client, in a temporary server.

With --gateway it checks the way to a gateway instead: address, certificate, readiness, clock, the \
key in SERVICE_MCP_API_KEY, and whether serve --join is accepted there.

It changes nothing and shows no secret. The exit code is 1 when a check failed; warnings do not count.`

  static override examples = [
    { description: 'check everything', command: '<%= config.bin %> doctor' },
    {
      description: 'check the way to the gateway of a studio',
      command: '<%= config.bin %> doctor --gateway https://gateway.studio.example',
    },
    { description: 'for a script', command: '<%= config.bin %> doctor --json' },
  ]

  static override flags = {
    'registry-dir': Flags.string({ description: 'state directory', helpValue: 'DIR' }),
    gateway: Flags.string({ description: 'check the way to this gateway', helpValue: 'URL' }),
    'join-token-file': Flags.string({
      description: 'with --gateway: the token of serve --join',
      helpValue: 'FILE',
      dependsOn: ['gateway'],
    }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Doctor)
    const registryDir = readRegistryDir(flags, process.env)
    const { examine } = await import('./doctor/examine.ts')
    const { json } = flags
    if (flags.gateway !== undefined) return this.#checkWay(flags.gateway, flags)
    if (!(await examine({ registryDir, json, env: process.env }))) this.exit(1)
  }
  async #checkWay(
    url: string,
    flags: { json: boolean; 'join-token-file'?: string },
  ): Promise<void> {
    const { env } = process
    const key = new ApiKeyConfig().resolve(env)
    const way = {
      gateway: readGatewayUrl('gateway', url),
      apiKey: key === null ? null : new Secret(key),
      joinToken: readJoinToken(flags, env),
      env,
    }
    const [{ checkWay }, { report }] = await Promise.all([
      import('./doctor/check-way.ts'),
      import('./doctor/examine.ts'),
    ])
    if (!(await report(await checkWay(way), { json: flags.json, env }))) this.exit(1)
  }
}
