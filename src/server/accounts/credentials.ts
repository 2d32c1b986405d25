import type { Clock } from '../../lib/clock.ts'
import type { AccountRow, AccountStore } from './account-store.ts'
import type { Call } from './call.ts'
import type { CountedWindows } from './counted-windows.ts'
import type { HashQueue } from './hash-queue.ts'
import type { AccountLimits } from './limits.ts'
import { judgeLogin } from './login-limits.ts'
import type { Passwords } from './passwords.ts'
import { RegistryProblem } from './problems.ts'
import { hashOfSecret } from './service-tokens.ts'

export interface PasswordTrial {
  /** The folded name that was given. */
  readonly key: string
  readonly account: AccountRow | null
  readonly password: string
  readonly call: Call
}

/** The one place where passwords are tried: every way in counts its failures together. */
export interface Credentials {
  /**
   * The stored hash that the password belongs to; null when it is wrong. Throws `rate-limited`
   * before any hashing, and `overloaded`.
   */
  check(trial: PasswordTrial): Promise<string | null>
  hash(password: string): Promise<string>
  /** A refusal that counts against the address alone. */
  failAddress(call: Call): void
  /** Throws `rate-limited` when the address failed too often. */
  admitAddress(call: Call): void
}

export function createCredentials(parts: {
  readonly store: AccountStore
  readonly passwords: Passwords
  readonly queue: HashQueue
  readonly addressFailures: CountedWindows
  readonly clock: Clock
  readonly limits: AccountLimits
}): Credentials {
  const { store, passwords, queue, addressFailures, clock, limits } = parts

  function admitAddress({ addressKey }: Call): void {
    const waitMs = addressFailures.waitMs(addressKey, clock.now())
    if (waitMs > 0) throw tooMany('too many failed logins from this address', waitMs)
  }

  async function admit(key: string, call: Call): Promise<boolean> {
    admitAddress(call)
    const failures = await store.findFailures(key)
    const verdict = judgeLogin(failures, clock.now(), limits)
    if (verdict.allowed) return failures !== null
    const what =
      verdict.reason === 'locked'
        ? 'this account takes no password until it is reset or unlocked by the owner of the registry'
        : 'too many failed logins of this account'
    throw tooMany(what, verdict.retryAfterMs)
  }

  async function improved({ id, passwordHash }: AccountRow, password: string): Promise<string> {
    if (!passwords.isOutdated(passwordHash)) return passwordHash
    const better = await passwords.hash(password)
    return (await store.replaceHash(id, passwordHash, better)) ? better : passwordHash
  }

  return {
    async check({ key: typed, account, password, call }) {
      // By name or by address, it is one account. What is typed for a name may be the password: of
      // a name that nobody has, no more is kept than what tells it from others.
      const key = account?.usernameKey ?? hashOfSecret(typed)
      await admit(key, call)
      return queue.run(async () => {
        // Again, and counted before the next has its turn: many at once are no way around it.
        const hasFailures = await admit(key, call)
        const right = await passwords.verify(password, account?.passwordHash ?? null)
        if (!right || account === null) {
          addressFailures.add(call.addressKey, clock.now())
          await store.addFailure(key, clock.now(), limits.failureWindowMs)
          return null
        }
        if (hasFailures) await store.clearFailures(key)
        return improved(account, password)
      })
    },
    hash: password => queue.run(() => passwords.hash(password)),
    failAddress: call => addressFailures.add(call.addressKey, clock.now()),
    admitAddress,
  }
}

export function tooMany(what: string, waitMs: number): RegistryProblem {
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1000))
  const message = `${what}; try again in ${retryAfter} s`
  return new RegistryProblem('rate-limited', message, { retryAfter })
}
