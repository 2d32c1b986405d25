import { z } from 'zod'
import type { JsonObject } from '../../../lib/util/json.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import { meantWords } from '../../../lib/util/text.ts'

/** Kinds of arguments. An error says what the argument must be. */
export const kinds = {
  text: (about: string) => z.string('must be a string').describe(about),
  flag: (about: string) => z.boolean('must be true or false').describe(about),
  word: <const Words extends readonly [string, ...string[]]>(words: Words, about: string) =>
    z.enum(words, `must be one of ${words.join(', ')}`).describe(about),
  integer(least: number, most: number, about: string) {
    const range = most === Number.MAX_SAFE_INTEGER ? `${least}` : `${least} to ${most}`
    const error = `must be an integer from ${range}`
    return z.int(error).min(least, error).max(most, error).describe(about)
  },
  texts(most: number, about: string) {
    const error = `must be an array of at most ${most} strings`
    return z.array(z.string(error), error).max(most, error).describe(about)
  },
  offset: (about: string) => kinds.integer(0, Number.MAX_SAFE_INTEGER, about),
}

/** As JSON Schema, without the bound that every whole number of JavaScript has. */
export function inputSchema(input: z.ZodObject): JsonObject {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: 'input',
    override({ jsonSchema }) {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  return schema
}

/** The arguments with their defaults. The failure is a sentence for the model. */
export function checkArguments(given: JsonObject, input: z.ZodObject): Result<JsonObject, string> {
  // Models write null for an argument that they leave out.
  const args = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
  const parsed = input.safeParse(args)
  if (parsed.success) return ok(parsed.data)
  const known = Object.keys(input.shape)
  const unknown = Object.keys(args).find(name => !known.includes(name))
  if (unknown !== undefined) {
    const shown = JSON.stringify(unknown.slice(0, 60))
    const meant = meantWords(unknown, known)
    return fail(`unknown argument ${shown}${meant}; known: ${known.join(', ')}`)
  }
  const { path = [], message = '' } = parsed.error.issues[0] ?? {}
  const name = String(path[0])
  return fail(`argument "${name}" ${Object.hasOwn(args, name) ? message : 'is missing'}`)
}
