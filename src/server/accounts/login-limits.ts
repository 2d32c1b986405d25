import { createHash } from 'node:crypto'
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
import { AccountsProblem } from './problems.ts'

const minute = 60
const hour = 60 * minute

interface Count {
  limiter: RateLimiterAbstract
  key: string
}

/**
 * Limits guessing of passwords: failures of one address, of one name from one address, and of one
 * name from all addresses. Names count as they are typed, so that unknown ones behave like known
 * ones. Counted in memory, or in PostgreSQL for all servers together.
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
   * Runs `check`, which returns false for a wrong password. The attempt counts before, so that
   * attempts at the same moment cannot all pass, and no longer once the password is right or was
   * not tried. Throws `rate-limited`.
   */
  async attempt(name: string, address: string, check: () => Promise<boolean>): Promise<boolean> {
    const counted: Count[] = []
    let isWrong = false
    try {
      // The address first: one that is refused must not lock the accounts of others.
      for (const count of [
        { limiter: this.#ofAddress, key: addressKey(address) },
        { limiter: this.#ofNameAndAddress, key: pairKey(name, address) },
        { limiter: this.#ofName, key: hashed(name) },
      ]) {
        await consume(count)
        counted.push(count)
      }
      isWrong = !(await check())
    } finally {
      if (!isWrong) await Promise.all(counted.map(({ limiter, key }) => limiter.reward(key)))
    }
    if (!isWrong) await this.clear(name, address)
    return !isWrong
  }

  /** Forgets the failures of the name from this address: its owner is there. */
  async clear(name: string, address: string): Promise<void> {
    await this.#ofNameAndAddress.delete(pairKey(name, address))
  }

  /** Counts a wrong code or a registration, which belong to no name. Throws `rate-limited`. */
  async count(address: string): Promise<void> {
    await consume({ limiter: this.#ofAddress, key: addressKey(address) })
  }
}

async function consume({ limiter, key }: Count): Promise<void> {
  try {
    await limiter.consume(key)
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) {
      throw new ServiceError('storage_failed', 'attempts cannot be counted', { cause: error })
    }
    const retryAfter = Math.max(1, Math.ceil(error.msBeforeNext / 1000))
    const message = `too many attempts; try again in ${retryAfter} s`
    throw new AccountsProblem('rate-limited', message, { retryAfter })
  }
}

function pairKey(name: string, address: string): string {
  return hashed(`${name} ${addressKey(address)}`)
}

/** People type their password as a user name by mistake. */
function hashed(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
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
