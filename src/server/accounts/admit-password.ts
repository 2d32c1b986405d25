import type { Logger } from '../../lib/util/logger.ts'
import { describeFlaw, findPasswordFlaw } from './password-policy.ts'
import { RegistryProblem } from './problems.ts'

/**
 * Throws `password-blocked` for a password that everybody tries first. Where only this machine
 * reaches the registry, it is let through with a line in the log.
 */
export function admitPassword(
  { local, log }: { readonly local: boolean; readonly log: Logger },
  pointer: string,
  password: string,
  of: { readonly username: string; readonly email: string },
): void {
  const flaw = findPasswordFlaw(password, of)
  if (flaw === null) return
  const detail = describeFlaw(flaw)
  if (!local) {
    const errors = [{ pointer, detail: `${detail}: choose another` }]
    throw new RegistryProblem('password-blocked', `the password ${detail}: choose another`, {
      errors,
    })
  }
  log.warn({ username: of.username, flaw }, 'an account was given a password that is easy to guess')
}
