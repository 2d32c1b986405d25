import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { replaceFile } from '../../../lib/util/replace-file.ts'
import { readKeyFile } from './key-file.ts'

/**
 * The key that the signing keys in a database are encrypted with, in a file of its own: a copy of
 * the database alone signs no token. Every accounts server of the database has the same file.
 */
export interface WrappingKey {
  /** `context` is authenticated: what was wrapped for one cannot be unwrapped for another. */
  wrap(text: string, context: string): Buffer
  /** Null when it was wrapped with another key or for another context, or was changed. */
  unwrap(wrapped: Buffer, context: string): string | null
}

const form = /^[A-Za-z0-9_-]{43}\n?$/
const algorithm = 'aes-256-gcm'
const ivBytes = 12
const tagBytes = 16

/** Null when the file is missing. Throws `registry_dir_unsafe`, `config_invalid`. */
export async function readWrappingKey(file: string, log: Logger): Promise<WrappingKey | null> {
  const text = await readKeyFile(file, log)
  if (text === null) return null
  if (!form.test(text)) {
    const hint = 'copy it again from another accounts server'
    throw new ServiceError('config_invalid', `${file} is not a wrapping key`, { hint })
  }
  return wrappingKey(Buffer.from(text, 'base64url'))
}

/** Makes the file unless it is there. */
export async function makeWrappingKey(file: string): Promise<void> {
  await replaceFile(file, `${randomBytes(32).toString('base64url')}\n`, { exclusive: true })
}

function wrappingKey(key: Buffer): WrappingKey {
  return {
    wrap(text, context) {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv(algorithm, key, iv).setAAD(Buffer.from(context))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed])
    },

    unwrap(wrapped, context) {
      try {
        const decipher = createDecipheriv(algorithm, key, wrapped.subarray(0, ivBytes))
          .setAAD(Buffer.from(context))
          .setAuthTag(wrapped.subarray(ivBytes, ivBytes + tagBytes))
        const sealed = wrapped.subarray(ivBytes + tagBytes)
        return Buffer.concat([decipher.update(sealed), decipher.final()]).toString('utf8')
      } catch {
        return null
      }
    },
  }
}
