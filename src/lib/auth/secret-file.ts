import { readPrivateFile } from '../config/private-file.ts'
import { ServiceError } from '../util/errors.ts'
import { isTokenText } from './validate-bearer-token.ts'

/** Returns the secret in a file, without a trailing newline. Throws as the functions below. */
export async function readSecretFile(path: string, flag: string): Promise<string> {
  const secret = (await readSecretText(path, flag)).replace(/\r?\n$/, '')
  if (secret === '') throw refusal(`${flag} ${path} is empty`, 'write the secret into it')
  return checkSecretText(secret, `${flag} ${path}`)
}

/** Returns the text of a file with a secret. Throws `config_invalid`, naming the flag. */
export async function readSecretText(
  path: string,
  flag: string,
  { mounted = false } = {},
): Promise<string> {
  const text = await readPrivateFile(path, { maxBytes: 4096, mounted }).catch(error => {
    if (!(error instanceof ServiceError)) throw error
    throw refusal(`${flag} ${error.message}`, error.hint)
  })
  if (text === null) throw refusal(`${flag} ${path} cannot be read: no such file`)
  return text
}

/** Returns the secret; throws `config_invalid`, naming only the source. */
export function checkSecretText(secret: string, source: string): string {
  if (isTokenText(secret)) return secret
  const what = 'contains spaces, newlines or characters that a header cannot carry'
  const hint = 'use printable ASCII without spaces, 32 or more random characters'
  throw refusal(`${source} ${what}`, hint)
}

function refusal(message: string, hint?: string): ServiceError {
  return new ServiceError('config_invalid', message, { hint })
}
