import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { serviceScopes } from '../../lib/accounts/protocol.ts'
import { TokenCommand } from '../../lib/cli/base-command.ts'
import { openToken } from '../account-context.ts'
import { describeToken } from './list.ts'

export default class TokenCreate extends TokenCommand {
  static override summary = 'Create a token for a pipeline, an agent or a workstation'
  static override description = `Prints the new token, alone, on stdout, this once. A client that reads \
at a gateway needs read, or read:SCHEME for one scheme of resources, an instance that joins one needs \
instance, and a pipeline publish.`
  static override examples = ['<%= config.bin %> token create ci --scope publish > ci.token']

  static override args = {
    name: Args.string({ ignoreStdin: true, description: 'what the token is for', required: true }),
  }

  static override flags = {
    scope: Flags.option({ options: serviceScopes, multiple: true })({
      description: 'what the token allows (repeatable) [default: read and publish]',
      helpValue: 'SCOPE',
      multipleNonGreedy: true,
    }),
    days: Flags.integer({ description: 'lifetime in days [default: 90]', min: 1, max: 365 }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(TokenCreate)
    const { client, server, output, withToken } = await openToken(flags)
    const wanted = { name: args.name, scopes: flags.scope, expires_in_days: flags.days }
    const made = await withToken(session => client.createToken(session, wanted))
    output.note(`${describeToken(made)}; this is the only time it is shown`)
    await output.result(made.token, { registry: server.url, ...made })
  }
}
