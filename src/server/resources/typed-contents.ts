import { wellFormedJson } from '../../lib/util/json.ts'
import type { Content } from './producer.ts'

/**
 * Gives contents that name no MIME type the one of their listing, else the type that claims
 * least, and makes JSON well-formed. Returns the identical array where nothing is to be done.
 */
export function typedContents(
  contents: readonly Content[],
  listedType: (uri: string) => string | undefined,
): readonly Content[] {
  const isTyped = (content: Content) => content.mimeType !== undefined && isWellFormed(content)
  return contents.every(isTyped) ? contents : contents.map(content => typed(content, listedType))
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
