import { type PromptTerminal, requireQuestioner, whyNoQuestions } from '../../lib/cli/prompt.ts'
import { readSecretFromStdin } from '../../lib/cli/secret-input.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Tokens } from '../../lib/accounts/answers.ts'
import type { AccountsClient, NewAccount } from '../../lib/accounts/client.ts'
import type { Output } from '../../lib/cli/output.ts'
import { Secret } from '../../lib/util/secret.ts'
import { connect } from './connect.ts'
import { type AccountFlags, openContext, promptPlace } from './context.ts'
import {
  type PasswordFlags,
  askCode,
  checkPasswordFlags,
  readCodeAndPassword,
  readPassword,
  readText,
  refuseCodeArgument,
} from './password.ts'
import { reportLogin, saveLogin } from './save-login.ts'

interface RegisterFlags extends AccountFlags, PasswordFlags {
  readonly email?: string
  readonly invite?: boolean
}

const invitation = { what: 'invitation code', flag: '--invite' }

/** Creates an account and logs in to it. */
export async function register(
  username: string | undefined,
  flags: RegisterFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  refuseCodeArgument(username)
  checkPasswordFlags(flags)
  const context = await openContext(flags, env)
  const place = promptPlace(flags)
  const otherWays = 'write it as in service-cli register alice --email alice@studio.example'
  const who = await readText(username, { place, what: 'username', otherWays })
  const email = await readText(flags.email, { place, what: 'email', otherWays })
  const { client } = connect(context)
  const secrets = await readSecrets(flags, context.output, place)
  const tokens = await create(client, { username: who, email, ...secrets }, place)
  const me = await saveLogin(context, { client, tokens, typed: { username: who, email } })
  context.output.note(`registered ${me.username}`)
  await reportLogin(context, me, tokens)
}

async function readSecrets(
  flags: RegisterFlags,
  output: Output,
  place: PromptTerminal,
): Promise<{ readonly password: Secret; readonly invite?: Secret }> {
  if (flags.invite === true && flags['password-stdin'] === true) {
    const { code, password } = await readCodeAndPassword(invitation, flags, place)
    return { invite: code, password }
  }
  const invite = flags.invite === true ? await readInvite(flags, place) : undefined
  return { password: await readPassword(flags, { output, place, isNew: true }), invite }
}

/** Beside `--password` a pipe brings the code alone. */
async function readInvite(flags: RegisterFlags, place: PromptTerminal): Promise<Secret> {
  if (flags.password !== undefined && !place.stdinIsTTY) {
    const code = await readSecretFromStdin(process.stdin, invitation.flag)
    return new Secret(code.reveal().trim() || code.reveal())
  }
  const otherWays =
    'pipe it in with --invite --password-stdin: the code, then the password, a line each'
  return askCode(requireQuestioner(place, `the ${invitation.what}`, otherWays), invitation.what)
}

/** Prompts for an invitation where the accounts server requires one. */
async function create(
  client: AccountsClient,
  account: NewAccount,
  place: PromptTerminal,
): Promise<Tokens> {
  try {
    return await client.register(account)
  } catch (error) {
    const mayAsk = account.invite === undefined && whyNoQuestions(place) === null
    if (!mayAsk || !needsInvite(error)) return explainClosed(error)
    const invite = await readInvite({}, place)
    return client.register({ ...account, invite })
  }
}

function needsInvite(error: unknown): boolean {
  const errors = error instanceof ServiceError ? error.data?.errors : undefined
  return Array.isArray(errors) && errors.some(({ pointer }) => pointer === '/invite')
}

/** The accounts server speaks of its own interface; here the invitation is a flag. */
function explainClosed(error: unknown): never {
  if (!(error instanceof ServiceError) || error.data?.reason !== 'registration-closed') throw error
  throw new ServiceError(error.code, error.message, {
    hint: 'ask the operator of the accounts server for an invitation, and add --invite',
    data: error.data,
  })
}
