import { omitUndefined } from '../../lib/util/members.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import type { Limits } from '../../lib/config/limits.ts'
import { isRfc3339 } from '../../lib/util/time.ts'
import {
  type Annotations,
  type BlobContent,
  type CompletionValues,
  type Content,
  type Descriptor,
  type Icon,
  isAudience,
  isIconSizes,
  isIconSource,
  isPriority,
  isTheme,
  type Template,
} from './producer.ts'
import { parseResourceUri } from './resource-uri.ts'

type ProducerCheckLimits = Pick<Limits, 'maxUriChars' | 'maxIcons'>

/** The descriptor with its known members, or null when a custom producer returned another shape. */
export function parseDescriptor(
  value: unknown,
  scheme: string,
  limits: ProducerCheckLimits,
): Descriptor | null {
  if (!isJsonObject(value)) return null
  const { uri, size } = value
  const parsed = parseResourceUri(uri, limits.maxUriChars)
  const entry = parseEntry(value, limits)
  if (!parsed.ok || parsed.value.scheme !== scheme || entry === null) return null
  if (size !== undefined && !(Number.isSafeInteger(size) && Number(size) >= 0)) return null
  return frozenWithoutUndefined({ uri: parsed.value.text, ...entry, size }) as unknown as Descriptor
}

/** The template with its known members, or null. */
export function parseTemplate(
  value: unknown,
  scheme: string,
  limits: ProducerCheckLimits,
): Template | null {
  if (!isJsonObject(value)) return null
  const { uriTemplate } = value
  if (typeof uriTemplate !== 'string' || !uriTemplate.startsWith(`${scheme}:`)) return null
  const entry = parseEntry(value, limits)
  return entry === null
    ? null
    : (frozenWithoutUndefined({ uriTemplate, ...entry }) as unknown as Template)
}

/** What resources and templates have in common. */
function parseEntry(value: JsonObject, { maxIcons }: ProducerCheckLimits): object | null {
  const { name, title, description, mimeType, _meta } = value
  if (typeof name !== 'string' || !areTexts(title, description, mimeType)) return null
  const annotations = optional(value['annotations'], parseAnnotations)
  const icons = optional(value['icons'], list => parseIcons(list, maxIcons))
  if (annotations === null || icons === null || !isOptionalObject(_meta)) return null
  return { name, title, description, mimeType, annotations, icons, _meta }
}

function parseAnnotations(value: unknown): Annotations | null {
  if (!isJsonObject(value)) return null
  const { audience, priority, lastModified } = value
  if (audience !== undefined && !isAudience(audience)) return null
  if (priority !== undefined && !isPriority(priority)) return null
  if (lastModified !== undefined && !isRfc3339(lastModified)) return null
  return frozenWithoutUndefined({ audience, priority, lastModified })
}

function parseIcons(value: unknown, maxIcons: number): readonly Icon[] | null {
  if (!Array.isArray(value) || value.length > maxIcons) return null
  const icons: Icon[] = []
  for (const item of value) {
    if (!isJsonObject(item)) return null
    const { src, mimeType, sizes, theme } = item
    if (!isIconSource(src) || !areTexts(mimeType)) return null
    if (sizes !== undefined && !isIconSizes(sizes, maxIcons)) return null
    if (theme !== undefined && !isTheme(theme)) return null
    icons.push(frozenWithoutUndefined({ src, mimeType, sizes, theme }) as Icon)
  }
  return icons
}

function optional<Value>(
  value: unknown,
  parse: (value: unknown) => Value | null,
): Value | null | undefined {
  return value === undefined ? undefined : parse(value)
}

/** The content with its known members, or null. */
export function parseContent(value: unknown): Content | null {
  if (!isJsonObject(value)) return null
  const { uri, mimeType, text, blob } = value
  if (typeof uri !== 'string' || !areTexts(mimeType)) return null
  if ((text === undefined) === (blob === undefined)) return null
  if (text !== undefined && typeof text !== 'string') return null
  if (blob !== undefined && !isBlob(blob)) return null
  return frozenWithoutUndefined({ uri, mimeType, text, blob }) as unknown as Content
}

/** What `complete` may return, or null. */
export function parseCompletion(value: unknown): CompletionValues | null {
  if (Array.isArray(value)) return value.every(each => typeof each === 'string') ? value : null
  if (!isJsonObject(value)) return null
  const { values, total, hasMore } = value
  if (!Array.isArray(values) || !values.every(each => typeof each === 'string')) return null
  if (total !== undefined && !(Number.isSafeInteger(total) && Number(total) >= values.length)) {
    return null
  }
  if (hasMore !== undefined && typeof hasMore !== 'boolean') return null
  return frozenWithoutUndefined({ values, total, hasMore }) as CompletionValues
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

function areTexts(...values: unknown[]): boolean {
  return values.every(value => value === undefined || typeof value === 'string')
}

function isOptionalObject(value: unknown): boolean {
  return value === undefined || isJsonObject(value)
}

function frozenWithoutUndefined(members: Record<string, unknown>): object {
  return Object.freeze(omitUndefined(members))
}
