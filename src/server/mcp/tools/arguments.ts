import { z } from 'zod'
import { defaultChars } from './pages.ts'

/** Arguments of tools with what a model is told of them. */
export const text = (about: string) => z.string().describe(about)

export const texts = (most: number, about: string) => z.array(z.string()).max(most).describe(about)

export const integer = (least: number, most: number, about: string) =>
  z.int().min(least).max(most).describe(about)

/** Where to go on, or a revision. */
export const count = (about: string) => z.int().min(0).describe(about)

export const oneOf = <const Words extends readonly [string, ...string[]]>(
  words: Words,
  about: string,
) => z.enum(words).describe(about)

export const maxChars = integer(100, 200_000, 'characters of the answer at most').default(
  defaultChars,
)
