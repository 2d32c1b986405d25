import { isIPv6 } from 'node:net'
import type { Pool } from 'pg'
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import { isLoopback, plainAddress } from '../../lib/util/net.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { hashOfSecret } from '../../lib/util/secret.ts'
import { AccountsProblem } from './problems.ts'

const minute = 60
const hour = 60 * minute

type Count = [limiter: RateLimiterAbstract, key: string]

/**
 * Limits guessing of passwords: failures of one address, of one name from one address, and of one
 * name from all addresses. Names count as they are typed, so that unknown ones behave like known
 * ones, and hashed: people type their password as a user name by mistake. Counted in memory, or in
 * PostgreSQL for all servers together.
 */
export class LoginLimits {
  readonly #ofAddress: RateLimiterAbstract
  readonly #ofNameAndAddress: RateLimiterAbstract
  readonly #ofName: RateLimiterAbstract

  constructor(pool: Pool | null) {
    function limiter(keyPrefix: string, points: number, duration: number): RateLimiterAbstract {
      const rule = { keyPrefix, points, duration }
      if (pool === null) return new RateLimiterMemory(rule)
      const table = { tableName: 'login_failures', tableCreated: true }
      return new RateLimiterPostgres({ ...rule, ...table, storeClient: pool, storeType: 'pool' })
    }
    this.#ofAddress = limiter('address', 100, hour)
    this.#ofNameAndAddress = limiter('name_address', 10, 15 * minute)
    this.#ofName = limiter('name', 100, hour)
  }

  /**
   * Runs `check`, which returns false for a wrong password: that alone counts, so attempts that run
   * at the same moment may each be the last free one. Throws `rate-limited`, `storage_failed`.
   */
  async attempt(name: string, address: string, check: () => Promise<boolean>): Promise<boolean> {
    const pair = pairKey(name, address)
    const counts: Count[] = [
      [this.#ofAddress, addressKey(address)],
      [this.#ofNameAndAddress, pair],
      [this.#ofName, hashOfSecret(name)],
    ]
    const [, failures = 0] = await converted(Promise.all(counts.map(failuresOf)))
    const isRight = await check()
    if (!isRight) {
      await converted(Promise.all(counts.map(([limiter, key]) => limiter.penalty(key))))
    } else if (failures > 0) {
      await converted(this.#ofNameAndAddress.delete(pair))
    }
    return isRight
  }

  /** Forgets the failures of the names, from this address and from all. Throws `storage_failed`. */
  async clear(names: string[], address: string): Promise<void> {
    const cleared = names.flatMap(name => [
      this.#ofNameAndAddress.delete(pairKey(name, address)),
      this.#ofName.delete(hashOfSecret(name)),
    ])
    await converted(Promise.all(cleared))
  }

  /** Counts a wrong code or a registration, which belong to no name. Throws as `attempt`. */
  async count(address: string): Promise<void> {
    await converted(this.#ofAddress.consume(addressKey(address)))
  }
}

/** Rejects as `consume` does when no further failure is free. */
async function failuresOf([limiter, key]: Count): Promise<number> {
  const count = await limiter.get(key)
  // In memory an ended count may still be there.
  if (count === null || count.msBeforeNext <= 0) return 0
  return count.consumedPoints < limiter.points ? count.consumedPoints : Promise.reject(count)
}

/** Rejects with `rate-limited` or `storage_failed`. */
async function converted<Value>(action: Promise<Value>): Promise<Value> {
  try {
    return await action
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) {
      throw new ServiceError('storage_failed', 'attempts cannot be counted', { cause: error })
    }
    const retry_after = Math.max(1, Math.ceil(error.msBeforeNext / 1000))
    const message = `too many attempts; try again in ${retry_after} s`
    throw new AccountsProblem('rate-limited', message, { retry_after })
  }
}

function pairKey(name: string, address: string): string {
  return hashOfSecret(`${name} ${addressKey(address)}`)
}

/**
 * An IPv4 address, the /64 of an IPv6 one, which is what one customer gets, or `loopback`: a local
 * process may pick any address of 127.0.0.0/8.
 */
export function addressKey(address: string): string {
  const plain = plainAddress(address.replace(/%.*$/, ''))
  if (isLoopback(plain)) return 'loopback'
  return isIPv6(plain) ? `${firstGroups(plain).join(':')}::/64` : plain
}

/** The first four groups of an IPv6 address, without leading zeros. */
function firstGroups(address: string): string[] {
  const [left = [], right] = address.split('::').map(part => part.split(':').filter(Boolean))
  const missing = right === undefined ? 0 : 8 - left.length - right.length
  const groups = [...left, ...Array.from({ length: missing }, () => '0'), ...(right ?? [])]
  return groups.slice(0, 4).map(group => group.replace(/^0+(?=.)/, ''))
}
