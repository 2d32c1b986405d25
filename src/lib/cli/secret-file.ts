import { constants, open } from 'node:fs/promises'
import { ServiceError } from '../errors.ts'

const maxSecretBytes = 4096
/** What can stand in an `Authorization` header after the scheme. */
const headerText = /^[\x21-\x7e]+$/

/**
 * The secret in a file, without its final newline. Throws `config_invalid` when the file cannot
 * be read, is open to other accounts, is empty or holds what no header can carry.
 */
export async function readSecretFile(path: string, flag: string): Promise<string> {
  const refuse = (what: string, hint?: string): ServiceError =>
    new ServiceError(
      'config_invalid',
      `${flag} ${path} ${what}`,
      hint === undefined ? {} : { hint },
    )
  // Non-blocking, so that a pipe without a writer is refused below instead of waited for.
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    throw refuse(`cannot be read (${error.code ?? 'unknown error'})`)
  })
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw refuse('is not a file')
    if (process.platform !== 'win32' && (stats.mode & 0o066) !== 0) {
      throw refuse('can be read or changed by other accounts', `run chmod 600 ${path}`)
    }
    if (stats.size > maxSecretBytes) throw refuse(`is larger than ${maxSecretBytes} bytes`)
    const secret = (await file.readFile('utf8')).replace(/\r?\n$/, '')
    if (secret === '') throw refuse('is empty', 'write the key into it, or leave the flag out')
    return checkSecretText(secret, `${flag} ${path}`)
  } finally {
    await file.close()
  }
}

/** Returns the secret; throws `config_invalid`, naming only where it came from. */
export function checkSecretText(secret: string, source: string): string {
  if (headerText.test(secret)) return secret
  throw new ServiceError(
    'config_invalid',
    `${source} holds spaces, line breaks or characters that a header cannot carry`,
    { hint: 'use printable ASCII without spaces, 32 or more random characters' },
  )
}
