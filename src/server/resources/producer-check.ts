import { type MemberFailure, MemberReader, pointerTo } from '../../lib/host-link/member-reader.ts'
import { omitUndefined } from '../../lib/util/members.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import type { Result } from '../../lib/util/result.ts'
import {
  type Annotations,
  type BlobContent,
  type CompletionValues,
  type Content,
  type Descriptor,
  hintForms,
  type Icon,
  isAudience,
  isIconSizes,
  isIconSource,
  isPriority,
  type Template,
} from './producer.ts'
import { parseResourceUri, maxUriChars } from './resource-uri.ts'

/** Icons of one entry of a listing, and sizes of one icon. */
const maxIcons = 8

type Others = 'refuse' | 'pass'
/**
 * Reads an entry of a list: of the application, or of the embedding program, whose entries may
 * have other members and texts of any length (`pass`).
 */
export class EntryReader {
  readonly #scheme: string
  readonly #others: Others

  constructor(scheme: string, others: Others) {
    this.#scheme = scheme
    this.#others = others
  }

  descriptor(value: unknown, pointer: string): Result<Descriptor, MemberFailure> {
    const reader = new MemberReader(value, pointer, this.#others)
    const parsed = parseResourceUri(reader.any('uri'), maxUriChars)
    if (!parsed.ok) reader.refuse('uri', parsed.failure.replace(/^uri /, ''))
    else if (parsed.value.scheme !== this.#scheme) {
      reader.refuse('uri', `must begin with ${this.#scheme}:`)
    }
    const size = reader.integer('size', 0, Number.MAX_SAFE_INTEGER)
    const { text: uri = '' } = parsed.ok ? parsed.value : {}
    const descriptor = omitUndefined({ uri, ...this.#common(reader, pointer), size })
    return reader.finish<Descriptor>(Object.freeze(descriptor))
  }

  template(value: unknown, pointer: string): Result<Template, MemberFailure> {
    const reader = new MemberReader(value, pointer, this.#others)
    const text = reader.shortText('uriTemplate', maxUriChars)
    const uriTemplate = reader.required('uriTemplate', text, '')
    if (!uriTemplate.startsWith(`${this.#scheme}:`)) {
      reader.refuse('uriTemplate', `must begin with ${this.#scheme}:`)
    }
    const template = omitUndefined({ uriTemplate, ...this.#common(reader, pointer) })
    return reader.finish<Template>(Object.freeze(template))
  }

  /** What resources and templates have in common; short, for every client is sent every entry. */
  #common(reader: MemberReader, pointer: string) {
    const isOwn = this.#others === 'pass'
    const text = (name: string) => (isOwn ? reader.text(name) : reader.shortText(name, maxUriChars))
    const meta = isOwn ? reader.any('_meta') : undefined
    if (meta !== undefined && !isJsonObject(meta)) reader.refuse('_meta', 'must be an object')
    return {
      name: reader.required('name', text('name'), ''),
      title: text('title'),
      description: text('description'),
      mimeType: text('mimeType'),
      annotations: readAnnotations(reader, pointerTo(pointer, 'annotations'), this.#others),
      icons: readIcons(reader, pointerTo(pointer, 'icons'), this.#others),
      _meta: isJsonObject(meta) ? meta : undefined,
    }
  }
}

function readAnnotations(
  parent: MemberReader,
  pointer: string,
  others: Others,
): Annotations | undefined {
  const value = parent.any('annotations')
  if (value === undefined) return undefined
  const reader = new MemberReader(value, pointer, others)
  const annotations = omitUndefined({
    audience: checked(reader, 'audience', isAudience),
    priority: checked(reader, 'priority', isPriority),
    lastModified: reader.time('lastModified'),
  })
  parent.inherit(reader.failure)
  return Object.freeze(annotations)
}

function readIcons(
  parent: MemberReader,
  pointer: string,
  others: Others,
): readonly Icon[] | undefined {
  const value = parent.any('icons')
  if (value === undefined) return undefined
  if (!Array.isArray(value) || value.length > maxIcons) {
    return parent.refuse('icons', `must be an array of at most ${maxIcons} icons`)
  }
  const icons = value.map((item, index): Icon => {
    const reader = new MemberReader(item, pointerTo(pointer, index), others)
    reader.shortText('src', maxUriChars)
    const isSizes = (sizes: unknown): sizes is readonly string[] => isIconSizes(sizes, maxIcons)
    const icon = omitUndefined({
      src: reader.required('src', checked(reader, 'src', isIconSource), ''),
      mimeType: reader.shortText('mimeType', maxUriChars),
      sizes: checked(reader, 'sizes', isSizes),
      theme: reader.word('theme', ['light', 'dark']),
    })
    parent.inherit(reader.failure)
    return Object.freeze(icon)
  })
  return Object.freeze(icons)
}

function checked<Value>(
  reader: MemberReader,
  name: keyof typeof hintForms,
  isRight: (value: unknown) => value is Value,
): Value | undefined {
  const value = reader.any(name)
  if (value === undefined || isRight(value)) return value
  return reader.refuse(name, hintForms[name])
}

/** The content with its known members, or null. */
export function parseContent(value: unknown): Content | null {
  if (!isJsonObject(value)) return null
  const { uri, mimeType, text, blob } = value
  if (typeof uri !== 'string' || typeof (mimeType ?? '') !== 'string') return null
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

function frozenWithoutUndefined(members: Record<string, unknown>): object {
  return Object.freeze(omitUndefined(members))
}
