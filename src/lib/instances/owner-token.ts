import { readPrivateFile } from '../config/private-file.ts'
import { Secret } from '../util/secret.ts'

/**
 * The token with which commands of the same account use a server. Null when there is no file, or one
 * that is not private to this user.
 */
export async function readOwnerToken(file: string): Promise<Secret | null> {
  const text = await readPrivateFile(file).catch(() => null)
  return text ? new Secret(text) : null
}
