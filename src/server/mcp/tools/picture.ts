import type { BlobContent } from '../../resources/producer.ts'
import { base64Length } from '../../resources/base64.ts'
import type { ToolContent } from './tool.ts'

/** Base64 characters of a picture that is sent to a model. */
const maxPictureChars = 4 * 1024 * 1024

/** What models take as pictures, by the first bytes in Latin-1. */
const signatures: readonly (readonly [mimeType: string, start: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n\x1a\n[^]{16}/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
]

/** The picture and a line about it; null: the bytes are no picture that a model is given. */
export function pictureContent(
  blob: BlobContent['blob'],
  caption: string,
  more = '',
): ToolContent[] | null {
  const head = headOf(blob)
  const [mimeType] = signatures.find(([, start]) => start.test(head.toString('latin1'))) ?? []
  if (mimeType === undefined || base64Chars(blob) > maxPictureChars) return null
  const size =
    mimeType === 'image/png'
      ? `${head.readUInt32BE(16)} × ${head.readUInt32BE(20)} pixels`
      : mimeType
  return [
    { type: 'image', mimeType, data: blob },
    { type: 'text', text: `${caption}, ${size}${more}` },
  ]
}

/** Its first bytes; none of one that is too large to hold. */
function headOf(blob: BlobContent['blob']): Buffer {
  if (typeof blob === 'string') return Buffer.from(blob.slice(0, 32), 'base64')
  if (blob instanceof Uint8Array) return Buffer.from(blob.subarray(0, 24))
  if (!('base64' in blob)) return Buffer.alloc(0)
  return Buffer.from(Buffer.from(blob.base64.subarray(0, 32)).toString('latin1'), 'base64')
}

export function base64Chars(blob: BlobContent['blob']): number {
  if (typeof blob === 'string') return blob.length
  if (blob instanceof Uint8Array) return base64Length(blob.byteLength)
  return 'base64' in blob ? blob.base64.byteLength : base64Length(blob.size)
}
