import { hash } from 'node:crypto'
import { generateApiKey } from './generate-api-key.ts'

/** Tells a key of this program from other secrets: for people, and for what hides them in logs. */
export const keyPrefix = 'smk_'

/** 256 random bits: nobody guesses it, however fast. */
export function newKey(): string {
  return `${keyPrefix}${generateApiKey(32)}`
}

/**
 * What is kept of a key. A plain hash is right here, where it would be wrong for a password: there
 * is no list of likely keys to try it on, so a slow one would only slow down every request. It also
 * makes the look-up safe by time: how far a hash agrees with another tells nothing of the key.
 */
export function keyDigest(key: string): string {
  return hash('sha256', key, 'hex')
}
