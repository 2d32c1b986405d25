import { type JsonObject, isJsonObject } from '../../util/json.ts'

/** A resource as a listing names it. What a server leaves out, or writes in another form, is null. */
export interface Listed {
  readonly uri: string
  readonly name: string
  readonly title: string | null
  readonly mimeType: string | null
  readonly size: number | null
  /** RFC 3339, as the server wrote it. */
  readonly modified: string | null
  /** All that the server said. */
  readonly raw: JsonObject
}

/** One of the contents of a resource. */
export type Contents =
  | {
      readonly kind: 'text'
      readonly uri: string
      readonly mimeType: string | null
      readonly text: string
    }
  | {
      readonly kind: 'binary'
      readonly uri: string
      readonly mimeType: string | null
      readonly bytes: Buffer
    }

/** Entries of a page; `key` is `uri`, or `uriTemplate`. One that names nothing is left out. */
export function parseListed(values: unknown, key: 'uri' | 'uriTemplate'): Listed[] {
  if (!Array.isArray(values)) return []
  return values.flatMap((value: unknown) => {
    if (!isJsonObject(value)) return []
    const uri = textOf(value[key])
    if (uri === null) return []
    const { annotations, size } = value
    return {
      uri,
      name: textOf(value.name) ?? uri,
      title: textOf(value.title),
      mimeType: textOf(value.mimeType),
      size: typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 ? size : null,
      modified: isJsonObject(annotations) ? textOf(annotations.lastModified) : null,
      raw: value,
    }
  })
}

/** The contents of `resources/read`; null when any of them is in no form of the protocol. */
export function parseContents({ contents }: JsonObject): Contents[] | null {
  if (!Array.isArray(contents)) return null
  const parsed = contents.map(parseOne)
  return parsed.every(each => each !== null) ? parsed : null
}

function parseOne(value: unknown): Contents | null {
  if (!isJsonObject(value)) return null
  const { uri, text, blob } = value
  if (typeof uri !== 'string') return null
  const mimeType = textOf(value.mimeType)
  if (typeof text === 'string') return { kind: 'text', uri, mimeType, text }
  if (typeof blob !== 'string' || !/^[\w+/-]*={0,2}$/.test(blob)) return null
  return { kind: 'binary', uri, mimeType, bytes: Buffer.from(blob, 'base64') }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
