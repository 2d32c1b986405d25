import { isUtf8 } from 'node:buffer'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { isJsonObject, parseJson } from '../../lib/json.ts'
import { type Result, fail, ok } from '../../lib/result.ts'

/** The bytes of a regular file, if there are no more than `maxBytes`. Errors of the file system pass. */
export async function readBounded(path: string, maxBytes: number): Promise<Result<Buffer, string>> {
  // Not blocking: opening a named pipe would wait for a writer.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const found = await file.stat()
    if (!found.isFile()) return fail('it is not a regular file')
    if (found.size > maxBytes) return fail(`it is larger than ${maxBytes} bytes`)
    // One byte more than it had: a file that grows meanwhile is not read without end.
    const buffer = Buffer.alloc(found.size + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length)
      length += bytesRead
      if (bytesRead === 0 || length === buffer.length) break
    }
    return ok(buffer.subarray(0, length))
  } finally {
    await file.close()
  }
}

/** An object or null, or what is wrong with the text. A byte order mark is let pass. */
export function parseScene(bytes: Buffer, maxDepth: number): Result<object | null, string> {
  if (!isUtf8(bytes)) return fail('it is not valid UTF-8')
  const text = bytes.toString('utf8').replace(/^\ufeff/, '')
  if (text.trim() === '') return fail('it is empty')
  const parsed = parseJson(text, maxDepth)
  if (!parsed.ok) {
    return fail(parsed.failure === 'depth' ? `it nests deeper than ${maxDepth}` : 'it is not JSON')
  }
  if (parsed.value === null || isJsonObject(parsed.value)) return ok(parsed.value)
  return fail('it is neither an object nor null')
}
