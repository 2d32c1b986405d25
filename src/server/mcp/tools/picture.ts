import { disableTypes, imageSize, types } from 'image-size'
import type { BlobContent, Content, StreamedBlob } from '../../resources/producer.ts'
import type { ToolContent } from './tool.ts'

/** Pixels on either side: models scale larger pictures down. */
export const maxPictureSide = 1568
const maxPictureBytes = 1024 * 1024

/** What models take as pictures. */
const mimeTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
}
disableTypes(types.filter(type => !Object.hasOwn(mimeTypes, type)))

/** Returns the picture and a line about it; null when the bytes are not a picture for models. */
export async function pictureContent(
  blob: BlobContent['blob'],
  caption: string,
  more = '',
): Promise<ToolContent[] | null> {
  const picture = await pictureOf(blob)
  if (picture === null || scaleOf(picture) < 1) return null
  const { mimeType, width, height } = picture
  const kind = mimeType === 'image/png' ? '' : `${mimeType}, `
  return [
    { type: 'image', mimeType, data: blob },
    { type: 'text', text: `${caption}, ${kind}${width} × ${height} pixels${more}` },
  ]
}

/** The contents of a picture, read again with a smaller width while it is larger than allowed. */
export async function readPicture(
  read: (maxWidth: number) => Promise<readonly Content[]> | readonly Content[],
  maxWidth: number,
): Promise<readonly Content[]> {
  const contents = await read(maxWidth)
  const [content] = contents
  const picture = content !== undefined && 'blob' in content ? await pictureOf(content.blob) : null
  if (picture?.mimeType !== 'image/png') return contents
  const smaller = Math.floor(picture.width * scaleOf(picture))
  return smaller >= 1 && smaller < Math.min(maxWidth, picture.width)
    ? readPicture(read, smaller)
    : contents
}

type Picture = NonNullable<Awaited<ReturnType<typeof pictureOf>>>

/** How much smaller the picture must be; 1: it is small enough. */
function scaleOf({ width, height, bytes }: Picture): number {
  // Fewer pixels compress a little worse.
  const byBytes = bytes > maxPictureBytes ? Math.sqrt(maxPictureBytes / bytes) * 0.9 : 1
  return Math.min(1, maxPictureSide / width, maxPictureSide / height, byBytes)
}

/** What the bytes are, whatever type they were declared as; null: no picture for a model. */
async function pictureOf(blob: BlobContent['blob']) {
  try {
    const { type = '', width, height } = imageSize(await firstBytes(blob))
    const mimeType = mimeTypes[type]
    return mimeType === undefined ? null : { mimeType, width, height, bytes: byteLength(blob) }
  } catch {
    return null
  }
}

/** All of a picture in memory; of a stored one that is streamed its beginning, which has the size. */
async function firstBytes(blob: BlobContent['blob']): Promise<Uint8Array> {
  if (!isStreamed(blob)) return decoded(blob)
  for await (const piece of blob.open(() => {})) return Uint8Array.from(piece)
  return new Uint8Array()
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
