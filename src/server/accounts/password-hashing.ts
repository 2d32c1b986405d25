import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { AccountLimits } from './limits.ts'

export interface Passwords {
  /** A PHC string with a new salt. */
  hash(password: string): Promise<string>
  /**
   * Compares in a time that does not depend on where they differ. A null hash (there is no such
   * account) costs the same as a real one, and is never right.
   */
  verify(password: string, hash: string | null): Promise<boolean>
  /** Whether it was made with other parameters than those of today. */
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
  const unknown: Argon2Hash = {
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
      const against = stored ?? unknown
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

/** A hash with everything needed to make it again, as the PHC string format writes it. */
interface Argon2Hash {
  /** KiB. */
  readonly memory: number
  readonly passes: number
  readonly lanes: number
  readonly salt: Buffer
  readonly tag: Buffer
}

const form =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/

/** Bounds what a stored hash may ask for: a forged one could stop the server. */
const maxMemory = 1024 * 1024

/** Null for what is no Argon2id hash, or one that would cost too much to check. */
export function parsePasswordHash(text: string): Argon2Hash | null {
  const [, m, t, p, salt = '', tag = ''] = form.exec(text) ?? []
  const [memory, passes, lanes] = [Number(m), Number(t), Number(p)]
  if (!(memory >= 8 * lanes) || memory > maxMemory || passes < 1 || passes > 100 || lanes < 1) {
    return null
  }
  return {
    memory,
    passes,
    lanes,
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

function formatPasswordHash({ memory, passes, lanes, salt, tag }: Argon2Hash): string {
  const parameters = `m=${memory},t=${passes},p=${lanes}`
  return `$argon2id$v=19$${parameters}$${unpadded(salt)}$${unpadded(tag)}`
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
