import { createHmac } from 'node:crypto'
import type { Clock } from '../../lib/util/time.ts'
import type { AccountRow, AccountStore, SessionRow } from './account-store.ts'
import { addressKey, type Call } from './call.ts'
import type { HashQueue } from './hash-queue.ts'
import type { KeySource } from './access-tokens.ts'
import type { AccountLimits } from './limits.ts'
import {
  forgetFailureMs,
  loginDelayMs,
  unknownAddresses,
  unknownAddressesFactor,
} from './login-limits.ts'
import type { Passwords } from './password-hashing.ts'
import { AccountsProblem } from './problems.ts'

interface PasswordAttempt {
  /** The folded user name or email address that was given. */
  readonly name: string
  readonly account: AccountRow | null
  readonly password: string
  readonly call: Call
  /** The caller's session, when the password is asked for beside it. */
  readonly session: SessionRow | null
}

/** A new password: `proven` says that a session or a code vouches for the caller. */
interface NewPassword {
  readonly name: string
  readonly password: string
  readonly call: Call
  readonly proven: boolean
}

/**
 * The one place that tries passwords. Failures count per name and source: the source is the
 * session where there is one, else the address. Sources that never logged in to the account
 * (strangers) also count together, so that many addresses guess no faster than a few.
 */
export interface Credentials {
  /**
   * The stored hash that the password belongs to; null when it is wrong. Throws `rate-limited`
   * before any hashing, and `overloaded`.
   */
  check(trial: PasswordAttempt): Promise<string | null>
  hash(password: NewPassword): Promise<string>
}

interface Tried {
  readonly name: string
  readonly source: string
  readonly trusted: boolean
}

export function createCredentials(parts: {
  store: AccountStore
  keys: KeySource
  passwords: Passwords
  queue: HashQueue
  clock: Clock
  limits: Pick<AccountLimits, 'maxLoginFailures'>
}): Credentials {
  const { store, keys, passwords, queue, clock, limits } = parts

  /** An unknown name is not stored as it is: people type their password there by mistake. */
  function keyOfUnknown(name: string): string {
    const mac = createHmac('sha256', keys.current().refresh.key).update('name').update(name)
    // No user name and no email address has this form.
    return `?${mac.digest('base64url')}`
  }

  async function admitSource({ name, source }: Omit<Tried, 'trusted'>): Promise<boolean> {
    const failures = await store.findFailures(name, source)
    refuseFor(loginDelayMs(failures, limits.maxLoginFailures, clock.now()))
    return failures !== null
  }

  /** Returns whether the source has failures. */
  async function admit(tried: Tried): Promise<boolean> {
    const hasFailures = await admitSource(tried)
    if (!tried.trusted) {
      const failures = await store.findFailures(tried.name, unknownAddresses)
      const free = limits.maxLoginFailures * unknownAddressesFactor
      refuseFor(loginDelayMs(failures, free, clock.now()))
    }
    return hasFailures
  }

  async function hasLoggedInFrom(account: AccountRow, key: string): Promise<boolean> {
    const addresses = await store.listSessionAddresses(account.id)
    return addresses.some(address => addressKey(address) === key)
  }

  async function describe({
    name: typed,
    account,
    call,
    session,
  }: PasswordAttempt): Promise<Tried> {
    // User name and email address count separately, so that a count does not link them.
    const name = account === null ? keyOfUnknown(typed) : typed
    if (session !== null) return { name, source: `session ${session.id}`, trusted: true }
    const source = call.addressKey
    // Before the addresses are looked up: a refused try must cost little.
    await admitSource({ name, source })
    const trusted = account !== null && (await hasLoggedInFrom(account, source))
    return { name, source, trusted }
  }

  async function improved({ id, passwordHash }: AccountRow, password: string): Promise<string> {
    if (!passwords.isOutdated(passwordHash)) return passwordHash
    const better = await passwords.hash(password)
    return (await store.replaceHash(id, passwordHash, better)) ? better : passwordHash
  }

  return {
    async check(trial) {
      const { account, password, call } = trial
      const tried = await describe(trial)
      const { name, source, trusted } = tried
      await admit(tried)
      return queue.run({ address: call.addressKey, name: trial.name, trusted }, async () => {
        // Again: tries that waited together must not all pass on the same count.
        const hasFailures = await admit(tried)
        const right = await passwords.verify(password, account?.passwordHash ?? null)
        if (!right || account === null) {
          const sources = trusted ? [source] : [source, unknownAddresses]
          await store.addFailure(name, sources, clock.now(), forgetFailureMs)
          return null
        }
        // The count of strangers stays: each login of the owner would give them as many tries again.
        if (hasFailures) await store.clearFailures(name, source)
        return improved(account, password)
      })
    },
    hash: ({ name, password, call, proven }) =>
      queue.run({ address: call.addressKey, name, trusted: proven }, () =>
        passwords.hash(password),
      ),
  }
}

function refuseFor(waitMs: number): void {
  if (waitMs > 0) throw tooMany('too many failed logins', waitMs)
}

export function tooMany(what: string, waitMs: number): AccountsProblem {
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1000))
  const message = `${what}; try again in ${retryAfter} s`
  return new AccountsProblem('rate-limited', message, { retryAfter })
}
