import { encode, fits, pictureFacts } from '../../capture/pictures.ts'
import { pictureWidths } from '../../resources/capture.ts'
import type { BlobContent, StreamedBlob } from '../../resources/producer.ts'
import type { ToolContent } from './tool.ts'

const { model: side } = pictureWidths
const bounds = { maxWidth: side, maxHeight: side, maxBytes: 1024 * 1024 }

/** Bytes of a stored picture that is made smaller. */
const maxFileBytes = 64 * 1024 * 1024

/**
 * The picture as a model takes it, and a line about it: PNG as JPEG, which is a tenth of it, and
 * larger ones made smaller. Null when the bytes are no such picture, or too large without sharp.
 */
export async function pictureContent(
  blob: BlobContent['blob'],
  caption: string,
  more = '',
): Promise<ToolContent[] | null> {
  const file = await pictureBytes(blob)
  const facts = file && pictureFacts(file)
  if (file === null || facts === null) return null
  const isFitting = fits(facts, file.length, bounds)
  const isShown = isFitting && facts.mimeType !== 'image/png'
  const made = isShown ? null : await encode({ bytes: file, ...facts }, bounds, 'jpeg')
  if (made === null && !isFitting) return null
  const { width, height } = made ?? facts
  const mimeType = made === null ? facts.mimeType : 'image/jpeg'
  return [
    { type: 'image', mimeType, data: made?.data ?? file },
    { type: 'text', text: `${caption}, ${width} × ${height} pixels${more}` },
  ]
}

/** All bytes of a picture; null when the first ones are of none, or it is too large to be read. */
async function pictureBytes(blob: BlobContent['blob']): Promise<Uint8Array | null> {
  if (!isStreamed(blob)) return decoded(blob)
  if (blob.size > maxFileBytes) return null
  const pieces: Uint8Array[] = []
  for await (const piece of blob.open(() => {})) {
    // The stream uses its memory again.
    pieces.push(Uint8Array.from(piece))
    if (pieces.length === 1 && pictureFacts(piece) === null) return null
  }
  return Buffer.concat(pieces)
}

export function byteLength(blob: BlobContent['blob']): number {
  return isStreamed(blob) ? blob.size : decoded(blob).byteLength
}

function isStreamed(blob: BlobContent['blob']): blob is StreamedBlob {
  return typeof blob === 'object' && 'open' in blob
}

function decoded(blob: Exclude<BlobContent['blob'], StreamedBlob>): Uint8Array {
  if (blob instanceof Uint8Array) return blob
  const text = typeof blob === 'string' ? blob : Buffer.from(blob.base64).toString('latin1')
  return Buffer.from(text, 'base64')
}
