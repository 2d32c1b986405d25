import { isUtf8 } from 'node:buffer'
import { buffer } from 'node:stream/consumers'
import { usage } from '../util/errors.ts'
import { Secret } from '../util/secret.ts'

/**
 * Reads a secret from a pipe, for `flag`. A trailing newline is stripped; spaces are kept. Throws
 * `usage_invalid` when stdin is a terminal, empty or not UTF-8.
 */
export async function readSecretFromStdin(
  stdin: AsyncIterable<Uint8Array> & { readonly isTTY?: boolean },
  flag: string,
): Promise<Secret> {
  if (stdin.isTTY === true) {
    const hint = `use a pipe: pass show registry | service-cli … ${flag}; omit ${flag} for a prompt`
    throw usage(`${flag} reads from a pipe, and stdin is a terminal`, hint)
  }
  const bytes = await buffer(stdin)
  if (!isUtf8(bytes)) throw usage(`${flag}: stdin is not UTF-8 text`)
  const secret = bytes.toString('utf8').replace(/\r?\n$/, '')
  if (secret !== '') return new Secret(secret)
  throw usage(`${flag}: stdin is empty`, 'the command before the pipe may have failed')
}
