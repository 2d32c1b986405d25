import { extname, parse } from 'node:path'

const extensions: Readonly<Record<string, string>> = {
  'application/gzip': '.gz',
  'application/json': '.json',
  'application/octet-stream': '.bin',
  'application/pdf': '.pdf',
  'application/zip': '.zip',
  'audio/mpeg': '.mp3',
  'audio/wav': '.wav',
  'image/avif': '.avif',
  'image/gif': '.gif',
  'image/jpeg': '.jpg',
  'image/png': '.png',
  'image/svg+xml': '.svg',
  'image/tiff': '.tif',
  'image/webp': '.webp',
  'image/x-exr': '.exr',
  'model/gltf-binary': '.glb',
  'model/gltf+json': '.gltf',
  'model/obj': '.obj',
  'model/stl': '.stl',
  'model/vnd.usdz+zip': '.usdz',
  'text/csv': '.csv',
  'text/html': '.html',
  'text/markdown': '.md',
  'text/plain': '.txt',
  'video/mp4': '.mp4',
  'video/quicktime': '.mov',
  'video/webm': '.webm',
}

/** The usual file extension of a media type; `.bin` for an unknown one. */
export function extensionOf(mimeType: string | null): string {
  const type = (mimeType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return extensions[type] ?? '.bin'
}

/** The media type of a file name by its extension, or null. */
export function typeOfName(name: string): string | null {
  const end = extname(name).toLowerCase().replace('.jpeg', '.jpg')
  return Object.entries(extensions).find(([, extension]) => extension === end)?.[0] ?? null
}

/** Device names, which Windows opens with any extension. */
const device = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i
const maxChars = 150

/**
 * Turns a name from another machine into a file name for the working folder: no path, not hidden,
 * no character that any system refuses. Null when nothing is left.
 */
export function safeFileName(name: string): string | null {
  const plain = (name.split(/[/\\]/).at(-1) ?? '')
    .replace(/[\p{C}\p{Z}<>:"|?*\ufffd]+/gu, ' ')
    .trim()
    .replace(/^[.\-\s]+|[.\s]+$/g, '')
  const { name: stem, ext } = parse(plain)
  const short = `${stem.slice(0, maxChars - ext.length).toWellFormed()}${ext}`
  if (short === '') return null
  return device.test(short) ? `_${short}` : short
}
