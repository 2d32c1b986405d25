import { isJsonObject } from '../../lib/json.ts'
import type { BlobContent, Content, Descriptor, Template } from './producer.ts'
import { parseResourceUri } from './resource-uri.ts'

/** The descriptor with its known members, or null when a custom producer returned another shape. */
export function parseDescriptor(
  value: unknown,
  scheme: string,
  maxUriChars: number,
): Descriptor | null {
  if (!isJsonObject(value)) return null
  const { uri, name, title, description, mimeType, size, annotations, _meta } = value
  const parsed = parseResourceUri(uri, maxUriChars)
  if (!parsed.ok || parsed.value.scheme !== scheme || typeof name !== 'string') return null
  if (!areTexts(title, description, mimeType)) return null
  if (size !== undefined && !(Number.isSafeInteger(size) && Number(size) >= 0)) return null
  if (!isOptionalObject(annotations) || !isOptionalObject(_meta)) return null
  return present({
    uri: parsed.value.text,
    name,
    title,
    description,
    mimeType,
    size,
    annotations,
    _meta,
  }) as unknown as Descriptor
}

/** The template with its known members, or null. */
export function parseTemplate(value: unknown, scheme: string): Template | null {
  if (!isJsonObject(value)) return null
  const { uriTemplate, name, title, description, mimeType } = value
  if (typeof uriTemplate !== 'string' || !uriTemplate.startsWith(`${scheme}:`)) return null
  if (typeof name !== 'string' || !areTexts(title, description, mimeType)) return null
  return present({ uriTemplate, name, title, description, mimeType }) as unknown as Template
}

/** The content with its known members, or null. */
export function parseContent(value: unknown): Content | null {
  if (!isJsonObject(value)) return null
  const { uri, mimeType, text, blob } = value
  if (typeof uri !== 'string' || !areTexts(mimeType)) return null
  if ((text === undefined) === (blob === undefined)) return null
  if (text !== undefined && typeof text !== 'string') return null
  if (blob !== undefined && !isBlob(blob)) return null
  return present({ uri, mimeType, text, blob }) as unknown as Content
}

function isBlob(blob: unknown): blob is BlobContent['blob'] {
  if (blob instanceof Uint8Array) return true
  if (typeof blob === 'string') return isBase64(blob)
  if (!isJsonObject(blob)) return false
  if (blob['base64'] instanceof Uint8Array) return true
  return Number.isSafeInteger(blob['size']) && typeof blob['open'] === 'function'
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}

function areTexts(...values: readonly unknown[]): boolean {
  return values.every(value => value === undefined || typeof value === 'string')
}

function isOptionalObject(value: unknown): boolean {
  return value === undefined || isJsonObject(value)
}

/** Without the members that are undefined, frozen. */
function present(members: Readonly<Record<string, unknown>>): object {
  return Object.freeze(
    Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)),
  )
}
