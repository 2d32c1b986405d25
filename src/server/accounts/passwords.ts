import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { type Argon2Hash, formatPasswordHash, parsePasswordHash } from './password-hash.ts'
import type { AccountLimits } from './limits.ts'

export interface Passwords {
  /** A PHC string with a salt of its own. */
  hash(password: string): Promise<string>
  /**
   * Compares in a time that does not depend on where they differ. A null hash (there is no such
   * account) costs the same as a real one, and is never right.
   */
  verify(password: string, hash: string | null): Promise<boolean>
  /** Was it made with other parameters than those of today? */
  isOutdated(hash: string): boolean
}

const derive = promisify(argon2)
const saltBytes = 16
const tagBytes = 32
const lanes = 1

/** Argon2id (RFC 9106) of the password in NFC, with the parameters of the limits. */
export function createPasswords(
  limits: Pick<AccountLimits, 'passwordHashBytes' | 'passwordHashPasses'>,
): Passwords {
  const memory = Math.floor(limits.passwordHashBytes / 1024)
  const passes = limits.passwordHashPasses
  const current = { memory, passes, lanes }
  const nobody: Argon2Hash = {
    ...current,
    salt: randomBytes(saltBytes),
    tag: randomBytes(tagBytes),
  }

  return {
    async hash(password) {
      const salt = randomBytes(saltBytes)
      const tag = await tagOf(password, { ...current, salt }, tagBytes)
      return formatPasswordHash({ ...current, salt, tag })
    },
    async verify(password, hash) {
      const stored = hash === null ? null : parsePasswordHash(hash)
      const against = stored ?? nobody
      const tag = await tagOf(password, against, against.tag.length)
      return timingSafeEqual(tag, against.tag) && stored !== null
    },
    isOutdated(hash) {
      const stored = parsePasswordHash(hash)
      if (stored === null) return true
      return stored.memory !== memory || stored.passes !== passes || stored.lanes !== lanes
    },
  }
}

function tagOf(
  password: string,
  { memory, passes, lanes: parallelism, salt }: Omit<Argon2Hash, 'tag'>,
  tagLength: number,
): Promise<Buffer> {
  const message = Buffer.from(password.normalize('NFC'))
  return derive('argon2id', { message, nonce: salt, parallelism, tagLength, memory, passes })
}
