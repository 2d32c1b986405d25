import { wellFormedJson } from '../util/json.ts'

/** JSON has no NaN and no infinities; they would become `null`. */
export class NumberError extends TypeError {}

/** Like `JSON.stringify` with well-formed texts; throws `NumberError` for a number that JSON lacks. */
export function finiteJsonText(value: unknown): string | undefined {
  const text: string | undefined = JSON.stringify(value)
  // Only a text with one needs the slow look.
  if (text?.includes('null')) refuseNonFinite(value)
  return text && wellFormedJson(text)
}

/** Throws `NumberError` for a number that JSON lacks, anywhere in the value. */
export function refuseNonFinite(value: unknown): void {
  JSON.stringify(value, (key: string, each: unknown) => {
    const number = each instanceof Number ? each.valueOf() : each
    if (typeof number === 'number' && !Number.isFinite(number)) {
      const where = key === '' ? '' : ` at member ${JSON.stringify(key.slice(0, 100))}`
      throw new NumberError(`holds ${number}${where}: JSON has no such number`)
    }
    return each
  })
}
