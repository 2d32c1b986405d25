import type { Logger } from '../../lib/util/logger.ts'
import { AccountsProblem } from './problems.ts'
import { foldEmail, foldUsername } from './names.ts'

/**
 * Throws `password-blocked` for a password that attackers try first. Where only this machine
 * reaches the accounts server, it is let through with a line in the log.
 */
export async function admitPassword(
  { local, log }: { local: boolean; log: Logger },
  pointer: string,
  password: string,
  of: { username: string; email: string },
): Promise<void> {
  const flaw = await findPasswordFlaw(password, of)
  if (flaw === null) return
  const detail = describeFlaw(flaw)
  if (!local) {
    const errors = [{ pointer, detail: `${detail}: choose another` }]
    throw new AccountsProblem('password-blocked', `the password ${detail}: choose another`, {
      errors,
    })
  }
  log.warn({ username: of.username, flaw }, 'an account was given a password that is easy to guess')
}

type PasswordFlaw = 'common' | 'is_username' | 'is_email'

/** Why the password is easy to guess for this account; null when it is not. */
export async function findPasswordFlaw(
  password: string,
  of: { username: string; email: string },
): Promise<PasswordFlaw | null> {
  const folded = password.normalize('NFC').toLowerCase()
  if (folded === foldUsername(of.username)) return 'is_username'
  const email = foldEmail(of.email)
  if (folded === email || folded === email.slice(0, email.lastIndexOf('@'))) return 'is_email'
  return isOnePattern(folded) || (await isListed(folded)) ? 'common' : null
}

function describeFlaw(flaw: PasswordFlaw): string {
  switch (flaw) {
    case 'is_username':
      return 'is the user name'
    case 'is_email':
      return 'is the email address or its first part'
    case 'common':
      return 'is a common password'
  }
}

let listed: Promise<ReadonlySet<string>> | undefined

/** Lists of guesses also have each of their words with digits after it. */
async function isListed(text: string): Promise<boolean> {
  listed ??= readList()
  const words = await listed
  return words.has(text) || words.has(text.replace(/[\d!]{1,9}$/, ''))
}

async function readList(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'])
}

/** `aaaaaaaa`, `abcabcabc`, `12345678`, `87654321`: a list cannot have them all. */
function isOnePattern(text: string): boolean {
  const unit = /^(.{1,3}?)\1+$/su.test(text)
  return unit || isRun(text, 1) || isRun(text, -1)
}

function isRun(text: string, step: 1 | -1): boolean {
  const codes = Array.from(text, character => character.codePointAt(0) ?? 0)
  return codes.every((code, at) => at === 0 || code - (codes[at - 1] ?? 0) === step)
}
