import { getMimeType, mimes } from 'hono/utils/mime'
import { parse } from 'node:path'

/** By extension: those of hono, and those of scenes and renders that it lacks. */
const types: Record<string, string> = {
  ...mimes,
  exr: 'image/x-exr',
  md: 'text/markdown',
  mov: 'video/quicktime',
  obj: 'model/obj',
  stl: 'model/stl',
  usdz: 'model/vnd.usdz+zip',
  wav: 'audio/wav',
}

/** The usual file extension of a media type; `.bin` for an unknown one. */
export function extensionOf(mimeType: string | null): string {
  const wanted = plainType(mimeType ?? '')
  const found = Object.keys(types).find(extension => plainType(types[extension]!) === wanted)
  return `.${found ?? 'bin'}`
}

/** The media type of a file name by its extension, or null. */
export function typeOfName(name: string): string | null {
  const type = getMimeType(name, types)
  return type === undefined ? null : plainType(type)
}

/** Without parameters. */
function plainType(type: string): string {
  return type.replace(/;.*/s, '').trim().toLowerCase()
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
