import type { Content } from './producer.ts'

/**
 * Gives contents that name no MIME type the one of their listing, else the type that claims
 * least. The identical frozen answer stays the identical one: it says "unchanged".
 */
export class TypedContents {
  readonly #filled = new WeakMap<readonly Content[], readonly Content[]>()

  fill(
    contents: readonly Content[],
    listedType: (uri: string) => string | undefined,
  ): readonly Content[] {
    if (contents.every(({ mimeType }) => mimeType !== undefined)) return contents
    const known = this.#filled.get(contents)
    if (known !== undefined) return known
    const filled = contents.map(content => typed(content, listedType))
    if (!Object.isFrozen(contents)) return filled
    this.#filled.set(contents, Object.freeze(filled))
    return filled
  }
}

function typed(content: Content, listedType: (uri: string) => string | undefined): Content {
  if (content.mimeType !== undefined) return content
  const least = 'text' in content ? 'text/plain' : 'application/octet-stream'
  const { uri, ...body } = content
  return Object.freeze({ uri, mimeType: listedType(uri) ?? least, ...body })
}
