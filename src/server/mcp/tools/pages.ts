import { z } from 'zod'

/** Little enough that no client cuts an answer. */
export const defaultChars = 8000

/** The argument of tools whose answers may be long. */
export const maxChars = z
  .int()
  .min(100)
  .max(200_000)
  .describe('characters of the answer at most')
  .default(defaultChars)

/** How many of the items, from the first, fit into so many characters. */
export function fitting<Item>(
  items: readonly Item[],
  most: number,
  textOf: (item: Item) => string,
): number {
  let chars = 0
  const firstBeyond = items.findIndex(item => (chars += textOf(item).length + 1) > most)
  return firstBeyond === -1 ? items.length : firstBeyond
}

/** Text of at most `most` characters, never half of a surrogate pair. */
export function sliceText(text: string, offset: number, most: number): string {
  const slice = text.slice(offset, offset + most)
  const isPairCut = offset + most < text.length && /[\ud800-\udbff]$/.test(slice)
  return isPairCut ? slice.slice(0, -1) : slice
}
