import { readSecretFile } from '../auth/secret-file.ts'
import { Secret } from '../util/secret.ts'

/**
 * The token with which commands of the same account use a server. Null when there is no file, or one
 * that is not private to this user.
 */
export async function readOwnerToken(file: string): Promise<Secret | null> {
  const text = await readSecretFile(file, 'owner token').catch(() => null)
  return text === null ? null : new Secret(text)
}
