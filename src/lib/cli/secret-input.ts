import { collectBounded } from '../util/bytes.ts'
import { ServiceError } from '../util/errors.ts'
import { Secret } from '../util/secret.ts'

/** What is read of stdin; `process.stdin` satisfies it. */
interface SecretStream extends AsyncIterable<Uint8Array> {
  readonly isTTY?: boolean | undefined
}

/** The longest password and the longest token are 4096 bytes; the rest is told, not read. */
export const maxSecretInputBytes = 64 * 1024

/**
 * The secret that a pipe brings, for `flag`. One line end after it is not part of it: every way
 * of writing a line to a pipe adds one. Spaces are part of it. Throws `usage_invalid` when stdin
 * is a terminal (where it would wait without a word), is empty, too long, or no text.
 */
export async function readSecretFromStdin(stdin: SecretStream, flag: string): Promise<Secret> {
  const text = parseSecretInput(await readAll(stdin, flag), flag)
  return new Secret(text)
}

/** Two secrets, a line each, in the order of `names`. Throws `usage_invalid` for anything else. */
export async function readTwoSecretsFromStdin(
  stdin: SecretStream,
  flag: string,
  names: readonly [string, string],
): Promise<[Secret, Secret]> {
  const text = parseSecretInput(await readAll(stdin, flag), flag)
  const [first = '', second = '', ...more] = text.split(/\r?\n/)
  if (first !== '' && second !== '' && more.length === 0) {
    return [new Secret(first), new Secret(second)]
  }
  throw new ServiceError('usage_invalid', `${flag} did not get two lines from stdin`, {
    hint: `the first line is the ${names[0]}, the second the ${names[1]}`,
  })
}

/** Throws `usage_invalid`; the text itself is never repeated. */
function parseSecretInput(bytes: Uint8Array, flag: string): string {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new ServiceError('usage_invalid', `${flag} got bytes from stdin that are no UTF-8 text`)
  }
  const secret = text.replace(/\r?\n$/, '')
  if (secret !== '') return secret
  throw new ServiceError('usage_invalid', `${flag} got nothing from stdin`, {
    hint: 'the command before the pipe may have failed',
  })
}

async function readAll(stdin: SecretStream, flag: string): Promise<Uint8Array> {
  if (stdin.isTTY === true) {
    throw new ServiceError('usage_invalid', `${flag} reads from a pipe, and stdin is a terminal`, {
      hint: `write it as in: pass show registry | service-cli … ${flag}, or leave ${flag} out to be asked`,
    })
  }
  const bytes = await collectBounded(stdin, maxSecretInputBytes)
  if (bytes !== null) return bytes
  throw new ServiceError(
    'usage_invalid',
    `${flag} got more than ${maxSecretInputBytes} bytes from stdin`,
  )
}
