import { isUtf8 } from 'node:buffer'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { noWait } from './posix.ts'
import { type Result, fail, ok } from './result.ts'

/** Returns all bytes, or null for more than `maxBytes`; the source is then closed unread. */
export async function collectBounded(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer | null> {
  const kept: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > maxBytes) return null
    kept.push(chunk)
  }
  return Buffer.concat(kept)
}

/** The bytes of a regular file, if there are no more than `maxBytes`. Errors of the file system pass. */
export async function readBounded(path: string, maxBytes: number): Promise<Result<Buffer, string>> {
  // Not blocking: opening a named pipe would wait for a writer.
  await using file = await open(path, constants.O_RDONLY | noWait)
  const found = await file.stat()
  if (!found.isFile()) return fail('it is not a regular file')
  // No more than it has now is read, also of a file that grows meanwhile.
  const bytes = found.size > maxBytes ? null : await file.readFile()
  if (bytes === null || bytes.length > maxBytes) return fail(`it is larger than ${maxBytes} bytes`)
  return ok(bytes)
}

/** The text of a file, or what is wrong with its bytes. A byte order mark is let pass. */
export function decodeText(bytes: Buffer): Result<string, string> {
  if (!isUtf8(bytes)) return fail('it is not valid UTF-8')
  const text = bytes.toString('utf8').replace(/^\ufeff/, '')
  return text.trim() === '' ? fail('it is empty') : ok(text)
}
