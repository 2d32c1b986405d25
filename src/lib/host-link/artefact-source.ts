import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { noWait } from '../util/posix.ts'

/** What `putArtefact` takes: bytes, the path of a file, or a stream whose length is known. */
export type ArtefactInput =
  Uint8Array | string | { readonly size: number; readonly stream: AsyncIterable<Uint8Array> }

/** Bytes to send; `chunks` is asked for once. */
export interface ArtefactSource {
  readonly size: number
  chunks(): AsyncIterable<Uint8Array>
}

/** Throws `TypeError` for anything else, and errors of the file system for a path. */
export async function artefactSource(input: ArtefactInput): Promise<ArtefactSource> {
  if (typeof input === 'string') return fileSource(input)
  if (input instanceof Uint8Array) return { size: input.length, chunks: () => once(input) }
  const { size, stream } = input
  if (!Number.isSafeInteger(size) || size < 0) throw new TypeError('size must be a whole number')
  return { size, chunks: () => stream }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** The length of now; a file that grows or shrinks meanwhile is noticed while it is sent. */
async function fileSource(path: string): Promise<ArtefactSource> {
  const file = await openRegular(path)
  try {
    return { size: (await file.stat()).size, chunks: () => readChunks(path) }
  } finally {
    await file.close()
  }
}

/** Opening a named pipe without `noWait` would block a thread of the process until a writer comes. */
async function openRegular(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | noWait)
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw new TypeError(`${path} is not a regular file`)
}

async function* readChunks(path: string): AsyncGenerator<Uint8Array> {
  const file = await openRegular(path)
  try {
    yield* file.createReadStream({ highWaterMark: 256 * 1024, autoClose: false })
  } finally {
    await file.close()
  }
}
