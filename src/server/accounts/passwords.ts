import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import pLimit from 'p-limit'
import { AccountsProblem } from './problems.ts'

const derive = promisify(argon2)

/** OWASP, Password Storage: Argon2id with 19 MiB, two passes, one lane. */
export const recommendedCost = { memory: 19 * 1024, passes: 2, parallelism: 1 }

/** About two seconds of work for one core. */
const maxWaiting = 50

/** Argon2id (RFC 9106) of passwords in NFC, a few at a time: each takes a core and 19 MiB. */
export class Passwords {
  readonly #cost: typeof recommendedCost
  /** One core stays free for requests that hash nothing. */
  readonly #limit = pLimit(Math.max(1, availableParallelism() - 1))
  readonly #ofUnknown: string

  /** `cost`: memory in KiB. */
  constructor(cost: typeof recommendedCost = recommendedCost) {
    this.#cost = cost
    this.#ofUnknown = formatHash(cost, randomBytes(16), randomBytes(32))
  }

  /** Runs `action`, which hashes, in its turn. Throws `overloaded`. */
  async inTurn<Value>(action: () => Promise<Value>): Promise<Value> {
    if (this.#limit.pendingCount >= maxWaiting) {
      const message = 'too many logins at the same moment; try again'
      throw new AccountsProblem('overloaded', message, { retry_after: 1 })
    }
    return this.#limit(action)
  }

  /** A PHC string with a new salt, made in its turn. Throws `overloaded`. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(16)
    const tag = await this.inTurn(() => deriveTag(password, this.#cost, salt))
    return formatHash(this.#cost, salt, tag)
  }

  /**
   * Called within `inTurn`. A null hash (no such account) costs the same as a real one and is never
   * right.
   */
  async verify(password: string, hash: string | null): Promise<boolean> {
    const [, , , cost = '', salt = '', tag = ''] = (hash ?? this.#ofUnknown).split('$')
    // Those that it was made with, which may differ from today's.
    const [memory = 0, passes = 0, parallelism = 0] = (cost.match(/\d+/g) ?? []).map(Number)
    const parameters = { memory, passes, parallelism }
    const derived = await deriveTag(password, parameters, Buffer.from(salt, 'base64'))
    return timingSafeEqual(derived, Buffer.from(tag, 'base64')) && hash !== null
  }
}

function deriveTag(password: string, cost: typeof recommendedCost, nonce: Buffer): Promise<Buffer> {
  const message = Buffer.from(password.normalize('NFC'))
  return derive('argon2id', { ...cost, message, nonce, tagLength: 32 })
}

/** The PHC string format. */
function formatHash(cost: typeof recommendedCost, salt: Buffer, tag: Buffer): string {
  const { memory, passes, parallelism } = cost
  const [saltText, tagText] = [salt, tag].map(bytes => bytes.toString('base64').replace(/=+$/, ''))
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${saltText}$${tagText}`
}

/** Says why the password is easy to guess for this account ("the password …"); null: it is not. */
export async function findPasswordFlaw(
  password: string,
  account: { username: string; email: string },
): Promise<string | null> {
  const folded = password.normalize('NFC').toLowerCase()
  const email = account.email.normalize('NFC').toLowerCase()
  const localPart = email.slice(0, email.lastIndexOf('@'))
  if ([account.username.toLowerCase(), email, localPart].includes(folded)) {
    return 'is the user name or the email address'
  }
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return dictionary['passwords-common'].includes(folded) ? 'is a common password' : null
}
