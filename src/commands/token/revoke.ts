import * as Args from '@oclif/core/args'
import { TokenCommand } from '../../lib/cli/base-command.ts'
import type { ServiceTokenView } from '../../lib/accounts/wire.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import { openToken } from '../account/context.ts'

/** Ends a service token. */
export default class TokenRevoke extends TokenCommand {
  static override summary = 'Revoke a token'

  static override description = 'Takes effect at once. TOKEN is the id or the name of one token.'

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> token revoke ci' },
  ]

  static override args = {
    token: Args.string({
      ignoreStdin: true,
      description: 'id or name of the token',
      required: true,
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(TokenRevoke)
    const { client, server, output, withToken } = await openToken(flags)
    const { id, name } = await withToken(async session => {
      const found = findToken(await client.listTokens(session), args.token)
      await client.revokeToken(session, found.id)
      return found
    })
    await output.result('', { registry: server.url, id, name, revoked: true })
    output.note(`token "${name}" (${id}) is revoked`)
  }
}

/** Never repeats `idOrName`: it may be the token itself. */
function findToken(tokens: ServiceTokenView[], idOrName: string): ServiceTokenView {
  const byId = tokens.find(({ id }) => id === idOrName)
  const [found, ...others] = byId ? [byId] : tokens.filter(({ name }) => name === idOrName)
  if (found === undefined) {
    const message = 'the account has no service token of that name or id'
    const hint = 'service-cli token list shows them'
    throw new ServiceError('request_refused', message, { hint })
  }
  if (others.length === 0) return found
  const ids = [found, ...others].map(({ id }) => id).join(', ')
  throw usage(`${others.length + 1} tokens have that name`, `name one by its id: ${ids}`)
}
