import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { noWait } from '../util/posix.ts'
import { isArtefactHex } from '../mcp/uris.ts'
import { parseRfc3339 } from '../util/time.ts'
import { jsonObjectText, type RawMembers } from './message-text.ts'

/** The input of `putArtefact`: bytes, the path of a file, or a stream of known length. */
export type ArtefactInput =
  Uint8Array | string | { readonly size: number; readonly stream: AsyncIterable<Uint8Array> }

/** Bytes to send. `chunks` is called once. */
export interface ArtefactSource {
  readonly size: number
  chunks(): AsyncIterable<Uint8Array>
}

/** Throws `TypeError` for invalid input, and file system errors for a path. */
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

/** Reads the current length; a later change of the file is detected while sending. */
async function fileSource(path: string): Promise<ArtefactSource> {
  const file = await openRegular(path)
  try {
    return { size: (await file.stat()).size, chunks: () => readChunks(path) }
  } finally {
    await file.close()
  }
}

/** Without `noWait`, opening a named pipe would block a thread until a writer opens it. */
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

/** The metadata of an artefact. Ids and names have 1 to 255 characters. */
export interface ArtefactFacts {
  /** Media type, `image/png`. */
  readonly mime: string
  readonly displayName?: string
  readonly sessionId?: string
  readonly toolCallId?: string
  readonly jobId?: string
  readonly correlationId?: string
  /** RFC 3339 with a zone; in the future. */
  readonly expiresAt?: string
  /** A JSON object of up to 64 KiB. */
  readonly metadata?: object
  /** Lower-case hex; the server refuses bytes with another hash. */
  readonly sha256?: string
}

const maxMetadataBytes = 64 * 1024
const nameForm = /^[^\u0000-\u001f\u007f]{1,255}$/
const mediaType = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*;[^\r\n]*)?$/

/**
 * The members of `artefact.put`. Throws `TypeError` for values that the server would refuse: its
 * refusal would arrive after bytes were sent.
 */
export function artefactMembers(size: number, facts: ArtefactFacts): RawMembers {
  const { mime, sha256, expiresAt, metadata } = facts
  check(
    'mime',
    mime ?? '',
    mediaType.test(mime) && mime.length <= 255,
    'a media type such as image/png',
  )
  check('sha256', sha256, isArtefactHex(sha256 ?? ''), '64 lower-case hex digits')
  const isTime = parseRfc3339(expiresAt ?? '') !== null
  check('expiresAt', expiresAt, isTime, 'a time such as 2030-01-31T12:00:00Z')
  const text = metadata === undefined ? undefined : jsonObjectText(metadata, 'the metadata')
  const fits = Buffer.byteLength(text ?? '') <= maxMetadataBytes
  check('metadata', text, fits, `at most ${maxMetadataBytes} bytes of JSON`)
  return {
    mime: JSON.stringify(mime),
    size: String(size),
    sha256: JSON.stringify(sha256),
    display_name: nameText('displayName', facts.displayName),
    session_id: nameText('sessionId', facts.sessionId),
    tool_call_id: nameText('toolCallId', facts.toolCallId),
    job_id: nameText('jobId', facts.jobId),
    correlation_id: nameText('correlationId', facts.correlationId),
    expires_at: JSON.stringify(expiresAt),
    metadata: text,
  }
}

function nameText(name: string, value: string | undefined): string | undefined {
  check(name, value, nameForm.test(value ?? ''), '1 to 255 characters, none a control character')
  return JSON.stringify(value)
}

function check(name: string, value: unknown, isRight: boolean, wanted: string): void {
  if (value !== undefined && !isRight) throw new TypeError(`${name} must have the form: ${wanted}`)
}
