import type { Interfaces } from '@oclif/core'
import * as Flags from '@oclif/core/flags'
import { requirePrompt } from '../lib/cli/prompt.ts'
import { readSecretFromStdin } from '../lib/cli/secret-input.ts'
import { passwordChars } from '../lib/accounts/protocol.ts'
import { ServiceError, usage } from '../lib/util/errors.ts'
import { Secret } from '../lib/util/secret.ts'

/** The flags of commands that prompt. */
export const inputFlags = {
  'password-stdin': Flags.boolean({
    description: 'read passwords and codes from stdin, one a line',
  }),
  'no-input': Flags.boolean({ description: 'never prompt; fail when input is missing' }),
}

/** With a password. Not `exclusive`: the parser would repeat the password in its message. */
export const passwordFlags = {
  ...inputFlags,
  password: Flags.string({
    description: 'the password; the shell history keeps it: prefer --password-stdin',
  }),
}

export type InputFlags = Partial<Interfaces.InferredFlags<typeof passwordFlags>>

const passwordHint =
  'pipe it in with --password-stdin, or give --password; pipelines set SERVICE_TOKEN instead'

/** A text that was given, or asked for. `example`: a command that gives it. */
export async function readText(
  given: string | undefined,
  label: string,
  flags: InputFlags,
  example: string,
): Promise<string> {
  if (given !== undefined && given.trim() !== '') return given.trim()
  const hint = `write it as in service-cli ${example}`
  const prompt = requirePrompt(`the ${label.toLowerCase()}`, hint, flags['no-input'])
  return prompt.askText(`${label}:`)
}

/** A secret that can only be asked for. `hint`: another way. */
export async function askSecret(flags: InputFlags, label: string, hint: string): Promise<Secret> {
  const prompt = requirePrompt(`the ${label.toLowerCase()}`, hint, flags['no-input'])
  return prompt.askSecret(`${label}:`)
}

/** The password of an account that exists: given, or asked for. */
export async function readPassword(flags: InputFlags): Promise<Secret> {
  return (await readGivenPassword(flags)) ?? askSecret(flags, 'Password', passwordHint)
}

/** The password of `--password` or stdin; null: it is to be asked for. Throws `usage_invalid`. */
export async function readGivenPassword(flags: InputFlags): Promise<Secret | null> {
  const { password, 'password-stdin': isPiped = false } = flags
  if (password === undefined) {
    return isPiped ? readSecretFromStdin(process.stdin, '--password-stdin') : null
  }
  if (isPiped) throw usage('give --password or --password-stdin, not both')
  if (password === '') throw usage('--password is empty', 'a variable in your shell may be unset')
  return new Secret(password)
}

/**
 * What a new password needs, and the new password: two lines of stdin, or a prompt and null, for
 * `withNewPassword` to ask.
 */
export async function readSecretAndPassword(
  label: string,
  flags: InputFlags,
): Promise<[Secret, Secret | null]> {
  const what = label.toLowerCase()
  if (flags['password-stdin']) {
    const piped = await readSecretFromStdin(process.stdin, '--password-stdin')
    const [first, second, ...more] = piped.reveal().split(/\r?\n/)
    if (first && second && more.length === 0) return [new Secret(first), new Secret(second)]
    const lines = `the first line is the ${what}, the second the new password`
    throw usage('--password-stdin needs two lines on stdin', lines)
  }
  const hint = `pipe both in with --password-stdin: the ${what}, then the new password, a line each`
  return [await askSecret(flags, label, hint), null]
}

/**
 * Calls with a new password. One that was not given is asked for twice, and again as long as the
 * accounts server finds it too common.
 */
export async function withNewPassword<T>(
  given: Secret | null,
  flags: InputFlags,
  call: (password: Secret) => Promise<T>,
): Promise<T> {
  if (given !== null) return call(given)
  for (;;) {
    const password = await askNewPassword(flags)
    try {
      return await call(password)
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      if (error.data?.['reason'] !== 'password-blocked') throw error
      process.stderr.write(`${error.message}\n`)
    }
  }
}

async function askNewPassword(flags: InputFlags): Promise<Secret> {
  const prompt = requirePrompt('the password', passwordHint, flags['no-input'])
  const { least } = passwordChars
  for (;;) {
    const first = await prompt.askSecret(
      'New password:',
      text => Array.from(text).length >= least || `It must have at least ${least} characters`,
    )
    const second = await prompt.askSecret('The same again:')
    if (first.equals(second.reveal())) return first
    process.stderr.write('the two passwords differ\n')
  }
}
