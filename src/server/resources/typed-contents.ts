import { wellFormedJson } from '../../lib/util/json.ts'
import type { Content } from './producer.ts'

/**
 * Gives contents that name no MIME type the one of their listing, else the type that claims
 * least, and makes JSON well-formed. The identical frozen answer stays the identical one: it says "unchanged".
 */
export class TypedContents {
  readonly #filled = new WeakMap<readonly Content[], readonly Content[]>()

  fill(
    contents: readonly Content[],
    listedType: (uri: string) => string | undefined,
  ): readonly Content[] {
    if (contents.every(content => content.mimeType !== undefined && isWellFormed(content)))
      return contents
    const known = this.#filled.get(contents)
    if (known !== undefined) return known
    const filled = contents.map(content => typed(content, listedType))
    if (!Object.isFrozen(contents)) return filled
    this.#filled.set(contents, Object.freeze(filled))
    return filled
  }
}

function typed(content: Content, listedType: (uri: string) => string | undefined): Content {
  const least = 'text' in content ? 'text/plain' : 'application/octet-stream'
  const { uri, mimeType = listedType(uri) ?? least, ...body } = content
  const full = { uri, mimeType, ...body }
  if ('text' in full && isJson(full)) full.text = wellFormedJson(full.text)
  return Object.freeze(full)
}

function isWellFormed(content: Content): boolean {
  return !('text' in content && isJson(content)) || wellFormedJson(content.text) === content.text
}

function isJson({ mimeType = '' }: Content): boolean {
  return /\bjson\b/i.test(mimeType)
}
