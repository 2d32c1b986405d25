import * as Args from '@oclif/core/args'
import { TokenCommand } from '../../lib/cli/base-command.ts'
import type { ServiceTokenView } from '../../lib/accounts/wire.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import { openToken } from '../account/context.ts'
import { canAsk, requirePrompt } from '../account/password-input.ts'

/** Ends a service token. */
export default class TokenRevoke extends TokenCommand {
  static override summary = 'Revoke a token'

  static override description = `Takes effect at once. TOKEN is the id or the name; when several tokens share \
the name, the newest is revoked, after a confirmation on a terminal.`

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
    const { meant, older } = await withToken(async session => {
      const found = findToken(await client.listTokens(session), args.token)
      if (found.older.length > 0 && canAsk({})) await confirm(found)
      await client.revokeToken(session, found.meant.id)
      return found
    })
    const { id, name } = meant
    await output.result('', { registry: server.url, id, name, revoked: true, older: older.length })
    output.note(`token "${name}" (${id}) is revoked`)
    if (older.length > 0) {
      output.note(`still valid with that name: ${older.map(token => token.id).join(', ')}`)
    }
  }
}

interface FoundToken {
  meant: ServiceTokenView
  /** Others of the same name, newest first. */
  older: ServiceTokenView[]
}

/** Returns the token with the id, else the newest with the name. Throws `request_refused`. */
function findToken(tokens: ServiceTokenView[], idOrName: string): FoundToken {
  const byId = tokens.find(({ id }) => id === idOrName)
  if (byId !== undefined) return { meant: byId, older: [] }
  const [meant, ...older] = tokens
    .filter(({ name }) => name === idOrName)
    .toSorted((one, other) => Date.parse(other.created_at) - Date.parse(one.created_at))
  if (meant !== undefined) return { meant, older }
  // Not repeated: it may be the token itself.
  throw new ServiceError('request_refused', 'the account has no service token of that name or id', {
    hint: 'service-cli token list shows them',
  })
}

async function confirm({ meant, older }: FoundToken): Promise<void> {
  const { id, name, created_at } = meant
  const count = older.length + 1
  const question = `${count} tokens are named "${name}". Revoke the newest (${id}, created ${created_at})?`
  const prompt = requirePrompt({}, 'the confirmation', 'name the token by its id')
  if (await prompt.askYes(question)) return
  const ids = [meant, ...older].map(token => token.id)
  throw usage('nothing was revoked', `name one by its id: ${ids.join(', ')}`)
}
