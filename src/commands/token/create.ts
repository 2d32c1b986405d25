import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { schemeScopes } from '../../lib/accounts/protocol.ts'
import { TokenCommand } from '../../lib/cli/base-command.ts'
import { openToken } from '../account/context.ts'
import { describeToken } from './list.ts'

/** Makes a service token. */
export default class TokenCreate extends TokenCommand {
  static override summary = 'Create a token for a pipeline, an agent or a workstation'

  static override usage = 'token create NAME [FLAGS]'

  static override description = `Prints the new token, alone, on stdout: put it into the secret store \
of your pipeline as SERVICE_TOKEN. It is limited to its scopes, never refreshed, and shown only \
once. Needs a login with a password: a service token cannot create tokens.

With the scope read a client reads instances at a gateway, with instance an instance joins one, and \
publish is for pipelines. Scopes for one scheme of instances: ${schemeScopes.join(', ')}.`

  static override examples = [
    {
      description: 'a token that may only publish, for 30 days',
      command: '<%= config.bin %> token create ci --scope publish --days 30',
    },
    {
      description: 'a token for a workstation whose instances join the gateway of the studio',
      command: '<%= config.bin %> token create workstation-042 --scope instance > join.token',
    },
    {
      description: 'a token for an agent that reads scenes and pictures at the gateway',
      command: '<%= config.bin %> token create agent --scope read:scene --scope read:capture',
    },
    {
      description: 'straight into a secret store',
      command: '<%= config.bin %> token create ci --scope publish | gh secret set SERVICE_TOKEN',
    },
  ]

  static override args = {
    name: Args.string({ ignoreStdin: true, description: 'what the token is for', required: true }),
  }

  static override flags = {
    scope: Flags.option({
      options: ['read', 'publish', 'instance', ...schemeScopes] as const,
      multiple: true,
    })({
      description: 'what the token allows (repeatable) [default: read and publish]',
      helpValue: 'SCOPE',
      multipleNonGreedy: true,
    }),
    days: Flags.integer({
      description: 'lifetime [default: set by the accounts server, usually 90]',
      helpValue: 'DAYS',
      min: 1,
      max: 365,
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(TokenCreate)
    const { client, server, output, withToken } = await openToken(flags)
    const wanted = { name: args.name, scopes: flags.scope, expires_in_days: flags.days }
    const made = await withToken(session => client.createToken(session, wanted))
    output.note(`${describeToken(made)}; this is the only time it is shown`)
    await output.secret(made.token, { registry: server.url, ...made })
  }
}
