import { readPrivateFile } from '../config/private-file.ts'
import { ServiceError } from '../util/errors.ts'
import { isTokenText } from './validate-bearer-token.ts'

/**
 * Returns the secret in a file that `setting` names. With `mounted` it may be a pipe, or mounted by
 * a container platform. Throws `config_invalid`, naming the setting and not the secret.
 */
export async function readSecretFile(
  path: string,
  setting: string,
  { mounted = false } = {},
): Promise<string> {
  const text = await readPrivateFile(path, { maxBytes: 4096, mounted }).catch(error => {
    if (!(error instanceof ServiceError)) throw error
    throw new ServiceError('config_invalid', `${setting} ${error.message}`, { hint: error.hint })
  })
  if (text !== null) return parseSecret(text, `${setting} ${path}`)
  throw new ServiceError('config_invalid', `${setting} ${path} cannot be read: no such file`)
}

/**
 * Takes a key or a token as people copy it: with spaces around it, a byte order mark, `Bearer`.
 * Throws `config_invalid`, naming only the place.
 */
export function parseSecret(text: string, place: string): string {
  // `trim` removes a byte order mark, too.
  const secret = text.trim().replace(/^Bearer(?:\s+|$)/i, '')
  if (isTokenText(secret)) return secret
  const what = secret === '' ? 'is empty' : 'has spaces or characters that a header cannot carry'
  const hint = 'copy it again, whole and alone'
  throw new ServiceError('config_invalid', `${place} ${what}`, { hint })
}
