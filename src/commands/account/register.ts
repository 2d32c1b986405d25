import { type PromptTerminal, requireQuestioner, whyNoQuestions } from '../../lib/cli/prompt.ts'
import { readSecretFromStdin } from '../../lib/cli/secret-input.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { RegistrationCheck, AccountsClient } from '../../lib/accounts/client.ts'
import { Secret } from '../../lib/util/secret.ts'
import { connect } from './connect.ts'
import { type AccountContext, type AccountFlags, openContext, promptPlace } from './context.ts'
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
  const secrets = await readSecrets({ username: who, email }, flags, { context, place, client })
  const tokens = await client.register({ username: who, email, ...secrets }).catch(explainClosed)
  const me = await saveLogin(context, { client, tokens, typed: { username: who, email } })
  context.output.note(`registered ${me.username}`)
  await reportLogin(context, me, tokens)
}

interface RegisterParts {
  readonly context: AccountContext
  readonly place: PromptTerminal
  readonly client: AccountsClient
}

/** Asks for the password only after the accounts server has accepted everything else. */
async function readSecrets(
  names: { username: string; email: string },
  flags: RegisterFlags,
  { context: { output }, place, client }: RegisterParts,
): Promise<{ readonly password: Secret; readonly invite?: Secret }> {
  if (flags.invite === true && flags['password-stdin'] === true) {
    const { code, password } = await readCodeAndPassword(invitation, flags, place)
    return { invite: code, password }
  }
  const given = flags.invite === true ? await readInvite(flags, place) : undefined
  const isRequired = flags.password === undefined && flags['password-stdin'] !== true
  const invite =
    isRequired && whyNoQuestions(place) === null
      ? await checkFirst(client, { ...names, invite: given }, place)
      : given
  const password = await readPassword(flags, { output, place, isNew: true })
  return invite === undefined ? { password } : { password, invite }
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

/** Returns the invitation, asked for where the accounts server needs one. Throws its refusal. */
async function checkFirst(
  client: AccountsClient,
  account: RegistrationCheck,
  place: PromptTerminal,
): Promise<Secret | undefined> {
  try {
    await client.checkRegistration(account)
    return account.invite
  } catch (error) {
    // Other accounts servers, and older ones, have no such check.
    if (isMissingRoute(error)) return account.invite
    if (account.invite !== undefined || !needsInvite(error)) throw error
    const invite = await readInvite({}, place)
    return checkFirst(client, { ...account, invite }, place)
  }
}

function isMissingRoute(error: unknown): boolean {
  return error instanceof ServiceError && [404, 405, 501].includes(Number(error.data?.status))
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
