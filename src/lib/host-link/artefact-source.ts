import { open } from 'node:fs/promises'

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
  const file = await open(path)
  try {
    const found = await file.stat()
    if (!found.isFile()) throw new TypeError(`${path} is not a regular file`)
    return { size: found.size, chunks: () => readChunks(path) }
  } finally {
    await file.close()
  }
}

async function* readChunks(path: string): AsyncGenerator<Uint8Array> {
  const file = await open(path)
  try {
    yield* file.createReadStream({ highWaterMark: 256 * 1024, autoClose: false })
  } finally {
    await file.close()
  }
}
