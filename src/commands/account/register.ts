import { type PromptTerminal, requireQuestioner, whyNoQuestions } from '../../lib/cli/prompt.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Tokens } from '../../lib/accounts/answers.ts'
import type { AccountsClient, NewAccount } from '../../lib/accounts/client.ts'
import { connect } from './connect.ts'
import { type AccountFlags, openContext, promptPlace } from './context.ts'
import {
  type PasswordFlags,
  askCode,
  checkPasswordFlags,
  readPassword,
  readText,
  refuseCodeArgument,
} from './password.ts'
import { reportLogin, saveLogin } from './save-login.ts'

interface RegisterFlags extends AccountFlags, PasswordFlags {
  readonly email?: string
}

/** Creates an account and logs in to it. */
export async function register(
  username: string | undefined,
  flags: RegisterFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  refuseCodeArgument(username)
  checkPasswordFlags(flags)
  const context = await openContext(flags, env, { savesLogin: true })
  const place = promptPlace(flags)
  const otherWays = 'write it as in service-cli register alice --email alice@studio.example'
  const who = await readText(username, { place, what: 'username', otherWays })
  const email = await readText(flags.email, { place, what: 'email', otherWays })
  const { client } = connect(context)
  const password = await readPassword(flags, { output: context.output, place, isNew: true })
  const tokens = await create(client, { username: who, email, password }, place)
  const me = await saveLogin(context, { client, tokens, typed: { username: who, email } })
  context.output.note(`registered ${me.username}`)
  await reportLogin(context, me, tokens)
}

/** Prompts for an invitation code where the accounts server requires one. */
async function create(
  client: AccountsClient,
  account: NewAccount,
  place: PromptTerminal,
): Promise<Tokens> {
  try {
    return await client.register(account)
  } catch (error) {
    if (!needsCode(error)) throw error
    if (whyNoQuestions(place) !== null) throw withHint(error)
    const what = 'invitation code'
    const invite = await askCode(requireQuestioner(place, `the ${what}`, codeHint), what)
    return client.register({ ...account, invite })
  }
}

function needsCode(error: unknown): error is ServiceError {
  const errors = error instanceof ServiceError ? error.data?.errors : undefined
  return Array.isArray(errors) && errors.some(({ pointer }) => pointer === '/invite')
}

const codeHint =
  'the operator makes one with service-cli registry users add; service-cli register asks for it in a terminal'

function withHint({ code, message, data }: ServiceError): ServiceError {
  return new ServiceError(code, message, { hint: codeHint, data })
}
