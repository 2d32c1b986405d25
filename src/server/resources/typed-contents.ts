import type { Content } from './producer.ts'

/**
 * Gives contents that name no MIME type the one of their listing, else the type that claims
 * least. Returns the identical array where each names one.
 */
export function typedContents(
  contents: readonly Content[],
  listedType: (uri: string) => string | undefined,
): readonly Content[] {
  if (contents.every(({ mimeType }) => mimeType !== undefined)) return contents
  return contents.map(({ uri, mimeType, ...body }) => {
    const least = 'text' in body ? 'text/plain' : 'application/octet-stream'
    return { uri, mimeType: mimeType ?? listedType(uri) ?? least, ...body }
  })
}
