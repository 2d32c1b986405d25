import { isArtefactHex } from '../mcp/uris.ts'

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

/** The usual end of the name of a file of this type; `.bin` for one that nobody knows. */
export function extensionOf(mimeType: string | null): string {
  const type = (mimeType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return extensions[type] ?? '.bin'
}

/** The type of a file by its name; null for one that nobody knows. */
export function typeOfName(name: string): string | null {
  const end = /\.[a-z0-9]+$/i
    .exec(name)?.[0]
    .toLowerCase()
    .replace(/^\.jpeg$/, '.jpg')
  const found = Object.entries(extensions).find(([, extension]) => extension === end)
  return found?.[0] ?? null
}

/** Names of devices, which Windows opens whatever follows the dot. */
const device = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i
const maxChars = 150

/**
 * A name from another machine as that of a file in the folder we are in: no path, nothing hidden, no
 * character that some system does not take. Null when nothing is left.
 */
export function safeFileName(name: string): string | null {
  const last = name.split(/[/\\]/).at(-1) ?? ''
  const plain = last
    .toWellFormed()
    .replace(/[\p{C}\p{Z}<>:"|?*\ufffd]+/gu, ' ')
    .trim()
    .replace(/^[.\-\s]+/, '')
    .replace(/[.\s]+$/, '')
  if (plain === '') return null
  const short = shortened(plain)
  return device.test(short) ? `_${short}` : short
}

function shortened(name: string): string {
  if (name.length <= maxChars) return name
  const end = /\.[^.]{1,12}$/.exec(name)?.[0] ?? ''
  return `${name
    .slice(0, maxChars - end.length)
    .toWellFormed()
    .replaceAll('\ufffd', '')}${end}`
}

/** `camera.png` for `capture://camera`, `3fa1b2c4d5e6.png` for an artefact. */
export function nameOfUri(uri: string, mimeType: string | null): string {
  const path = uri.split(/[?#]/, 1)[0] ?? ''
  const last = path.split('/').findLast(part => part !== '' && !part.endsWith(':')) ?? ''
  const short = isArtefactHex(last) ? last.slice(0, 12) : decoded(last)
  const name = safeFileName(short) ?? 'resource'
  return /\.[a-z0-9]{1,8}$/i.test(name) ? name : `${name}${extensionOf(mimeType)}`
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** `a.png`, then `a-2.png`, `a-3.png`, …: the same name for one more file. */
export function numberedName(name: string, number: number): string {
  if (number === 1) return name
  const end = /\.[^.]{1,12}$/.exec(name)?.[0] ?? ''
  return `${name.slice(0, name.length - end.length)}-${number}${end}`
}
