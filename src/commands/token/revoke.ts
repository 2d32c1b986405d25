import * as Args from '@oclif/core/args'
import { TokenCommand } from '../../lib/cli/base-command.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import { openToken } from '../account-context.ts'

export default class TokenRevoke extends TokenCommand {
  static override summary = 'Revoke a token, by its name or id'
  static override description = 'Takes effect at once.'
  static override examples = ['<%= config.bin %> token revoke ci']

  static override args = {
    token: Args.string({ ignoreStdin: true, description: 'its id or name', required: true }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(TokenRevoke)
    const { client, server, output, withToken } = await openToken(flags)
    const tokens = await withToken(session => client.listTokens(session))
    const [found, ...others] = tokens.filter(({ id, name }) => [id, name].includes(args.token))
    // No message repeats the argument: it may be the token itself.
    if (found === undefined) {
      const message = 'the account has no service token of that name or id'
      const hint = 'service-cli token list shows them'
      throw new ServiceError('request_refused', message, { hint })
    }
    if (others.length > 0) {
      const ids = [found, ...others].map(({ id }) => id).join(', ')
      throw usage(`${others.length + 1} tokens have that name`, `name one by its id: ${ids}`)
    }
    const { id, name } = found
    await withToken(session => client.revokeToken(session, id))
    await output.result('', { registry: server.url, id, name, revoked: true })
    output.note(`token "${name}" (${id}) is revoked`)
  }
}
