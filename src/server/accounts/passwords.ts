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
  /** Of the hashes of today, with their parameters. */
  readonly #prefix: string
  readonly #ofUnknown: StoredHash

  /** `cost`: memory in KiB. */
  constructor(cost: typeof recommendedCost = recommendedCost) {
    this.#cost = cost
    const { memory, passes, parallelism } = cost
    this.#prefix = `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`
    this.#ofUnknown = { ...cost, salt: randomBytes(16), tag: randomBytes(32) }
  }

  /** A PHC string with a new salt. Throws `overloaded`. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(16)
    const tag = await this.#tagOf(password, { ...this.#cost, salt, tag: randomBytes(32) })
    return `${this.#prefix}${unpadded(salt)}$${unpadded(tag)}`
  }

  /**
   * A null hash (no such account) costs the same as a real one and is never right. Throws
   * `overloaded`.
   */
  async verify(password: string, hash: string | null): Promise<boolean> {
    const stored = hash === null ? null : parseHash(hash)
    const against = stored ?? this.#ofUnknown
    const tag = await this.#tagOf(password, against)
    return timingSafeEqual(tag, against.tag) && stored !== null
  }

  /** Returns whether the hash was made with other parameters than those of today. */
  isOutdated(hash: string): boolean {
    return !hash.startsWith(this.#prefix)
  }

  #tagOf(password: string, { salt, tag, ...cost }: StoredHash): Promise<Buffer> {
    if (this.#limit.pendingCount >= maxWaiting) {
      const message = 'too many logins at the same moment; try again'
      throw new AccountsProblem('overloaded', message, { retryAfter: 1 })
    }
    const message = Buffer.from(password.normalize('NFC'))
    const parameters = { ...cost, message, nonce: salt, tagLength: tag.length }
    return this.#limit(() => derive('argon2id', parameters))
  }
}

/** What the PHC string format has of an Argon2id hash; memory in KiB. */
interface StoredHash {
  memory: number
  passes: number
  parallelism: number
  salt: Buffer
  tag: Buffer
}

const form = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/

function parseHash(text: string): StoredHash | null {
  const [whole, memory, passes, parallelism, salt = '', tag = ''] = form.exec(text) ?? []
  if (whole === undefined) return null
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
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
  // A list cannot have every `aaaaaaaa` and `abcabcabc`.
  const isRepeated = /^(.{1,3}?)\1+$/su.test(folded)
  return isRepeated || (await isListed(folded)) ? 'is a common password' : null
}

let listed: Promise<Set<string>> | undefined

/** Lists of guesses also have each of their words with digits after it. */
async function isListed(text: string): Promise<boolean> {
  listed ??= import('@zxcvbn-ts/language-common').then(
    ({ dictionary }) => new Set(dictionary['passwords-common']),
  )
  const words = await listed
  return words.has(text) || words.has(text.replace(/[\d!]{1,9}$/, ''))
}
