import type { Output } from '../../lib/cli/output.ts'
import { type PromptTerminal, type Questioner, requireQuestioner } from '../../lib/cli/prompt.ts'
import { readSecretFromStdin, readTwoSecretsFromStdin } from '../../lib/cli/secret-input.ts'
import { passwordChars } from '../../lib/accounts/protocol.ts'
import { Secret } from '../../lib/util/secret.ts'
import { usage } from '../../lib/util/errors.ts'

export interface PasswordFlags {
  readonly password?: string
  readonly 'password-stdin'?: boolean
}

/** How a password may come other than by a question. */
const passwordWays =
  'pipe it in with --password-stdin, or give --password; pipelines set SERVICE_TOKEN instead'

/** Throws `usage_invalid` before anything is asked or read. */
export function checkPasswordFlags(flags: PasswordFlags): void {
  if (flags.password === undefined) return
  if (flags['password-stdin'] === true) {
    throw usage(
      'give --password or --password-stdin, not both',
      'the pipe is the one that leaves no trace',
    )
  }
  if (flags.password === '') {
    throw usage('--password is empty', 'a variable in your shell may be unset')
  }
}

/** From stdin, the flag, or a question without echo. A new password is asked for twice. */
export async function readPassword(
  flags: PasswordFlags,
  { output, place, isNew }: { output: Output; place: PromptTerminal; isNew: boolean },
): Promise<Secret> {
  if (flags['password-stdin'] === true) {
    return readSecretFromStdin(process.stdin, '--password-stdin')
  }
  if (flags.password !== undefined) {
    if (place.stderrIsTTY) {
      output.warn(
        'a password on the command line stays in the shell history: leave --password out to be asked, or use --password-stdin',
      )
    }
    return new Secret(flags.password)
  }
  const ask = requireQuestioner(place, 'the password', passwordWays)
  return isNew ? askNewPassword(ask) : ask.askSecret('Password:')
}

interface PasswordChange {
  readonly current: Secret
  readonly next: Secret
}

/** The current password and a new one: two lines of stdin, or three questions. */
export async function readPasswordChange(
  flags: PasswordFlags,
  place: PromptTerminal,
): Promise<PasswordChange> {
  if (flags['password-stdin'] === true) {
    const names = ['current password', 'new password'] as const
    const [current, next] = await readTwoSecretsFromStdin(process.stdin, '--password-stdin', names)
    return { current, next }
  }
  const otherWays = 'pipe both in with --password-stdin: the current one, then the new, a line each'
  const ask = requireQuestioner(place, 'the password', otherWays)
  const current = await ask.askSecret('Current password:')
  return { current, next: await askNewPassword(ask) }
}

/** A code that the operator made. It is never the value of a flag or an argument. */
interface CodeQuestion {
  /** As in `reset code`. */
  readonly what: string
  readonly flag: string
}

/** A code and a new password: two lines of stdin, or questions. */
export async function readCodeAndPassword(
  { what, flag }: CodeQuestion,
  flags: PasswordFlags,
  place: PromptTerminal,
): Promise<{ readonly code: Secret; readonly password: Secret }> {
  if (flags['password-stdin'] === true) {
    const names = [what, 'password'] as const
    const [code, password] = await readTwoSecretsFromStdin(process.stdin, '--password-stdin', names)
    return { code, password }
  }
  const otherWays = `pipe both in with ${flag} --password-stdin: the ${what}, then the password, a line each`
  const ask = requireQuestioner(place, `the ${what}`, otherWays)
  return { code: await askCode(ask, what), password: await askNewPassword(ask) }
}

export async function askCode(ask: Questioner, what: string): Promise<Secret> {
  const code = await ask.askSecret(`${what.charAt(0).toUpperCase()}${what.slice(1)}:`, text =>
    text.trim() === '' ? 'Nothing was typed' : true,
  )
  return new Secret(code.reveal().trim())
}

/** Throws `usage_invalid` for an argument that is a code: old habit puts it behind the flag. */
export function refuseCodeArgument(argument: string | undefined): void {
  if (argument === undefined || !/^(?:inv|rst)_[\w-]{8,}/.test(argument)) return
  throw usage(
    'codes are not accepted as arguments',
    'omit it to be prompted, or pipe it in with --password-stdin; the code may be in your shell history',
  )
}

async function askNewPassword(ask: Questioner): Promise<Secret> {
  const { least } = passwordChars
  const first = await ask.askSecret('New password:', text =>
    Array.from(text).length >= least ? true : `It has at least ${least} characters`,
  )
  await ask.askSecret('The same again:', text => first.equals(text) || 'It differs from the first')
  return first
}

/** A text that was given, or asked for. */
export async function readText(
  given: string | undefined,
  { place, what, otherWays }: { place: PromptTerminal; what: string; otherWays: string },
): Promise<string> {
  if (given !== undefined && given.trim() !== '') return given.trim()
  return requireQuestioner(place, `the ${what}`, otherWays).askText(
    `${what.charAt(0).toUpperCase()}${what.slice(1)}:`,
  )
}
