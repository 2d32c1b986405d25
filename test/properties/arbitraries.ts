import fc from 'fast-check'
import { codePoint } from '../helpers/code-point.ts'

/** Texts that have broken somebody's parser before. */
export const hostileTexts = [
  '',
  ' ',
  '\0',
  '\n',
  '\ud800',
  '\u202e',
  '😀',
  '__proto__',
  'constructor',
  '../..',
  '%2e%2e%2f',
  '%',
  '?limit=1&limit=2',
  '?since=-1',
  '#',
  'x'.repeat(3000),
  'a'.repeat(64),
  '${7*7}',
  '1e999',
] as const

export const anyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...hostileTexts) },
  { weight: 1, arbitrary: fc.string({ unit: codePoint, maxLength: 20 }) },
)

export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 2, arbitrary: anyText },
  {
    weight: 1,
    // `String()` throws for the last one.
    arbitrary: fc.constantFrom<unknown>(0, -1, 1.5, 2 ** 53, 1e308, true, null, {
      toString: 0,
      valueOf: 0,
    }),
  },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
)

/** What is right, and once in `oneIn` times what is not. */
export function mostly<Value>(
  oneIn: number,
  right: fc.Arbitrary<Value>,
  wrong: fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  return fc.oneof(
    // A case that fails is made smaller towards what is right.
    { withCrossShrink: true },
    { weight: oneIn - 1, arbitrary: right as fc.Arbitrary<unknown> },
    { weight: 1, arbitrary: wrong },
  )
}

/** A member that is left out. */
export const absent = Symbol('absent')
export const nothing: fc.Arbitrary<unknown> = fc.constant(absent)

/** An object of these members, without those that are `absent`. */
export function members(
  model: Readonly<Record<string, fc.Arbitrary<unknown>>>,
): fc.Arbitrary<Record<string, unknown>> {
  return fc
    .record(model)
    .map(values => Object.fromEntries(Object.entries(values).filter(([, one]) => one !== absent)))
}

/** Bytes taken out of a text, and others put in their place. */
export interface Damage {
  readonly at: number
  readonly cut: number
  /** One byte a character. */
  readonly add: string
}

const damage: fc.Arbitrary<Damage> = fc.record({
  at: fc.nat(5000),
  cut: fc.nat(8),
  add: fc.oneof(
    fc.constantFrom('', '"', '[', '{', '}', ',', ':', '\\', '\\u0000', '0', '-', '\r\n', '\xff'),
    fc.constantFrom('\0', '['.repeat(70), '"id":1,'),
    fc.string({ unit: fc.nat(255).map(code => String.fromCharCode(code)), maxLength: 4 }),
  ),
})

/** None most of the time. */
export const someDamage: fc.Arbitrary<readonly Damage[]> = fc.oneof(
  { weight: 4, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.array(damage, { minLength: 1, maxLength: 3 }) },
)
export const muchDamage: fc.Arbitrary<readonly Damage[]> = fc.array(damage, { maxLength: 3 })

export function damaged(text: Uint8Array, damages: readonly Damage[]): Buffer {
  let bytes = Buffer.from(text)
  for (const { at, cut, add } of damages) {
    const start = at % (bytes.length + 1)
    bytes = Buffer.concat([
      bytes.subarray(0, start),
      Buffer.from(add, 'latin1'),
      bytes.subarray(start + cut),
    ])
  }
  return bytes
}

const pieces = ['/', '..', '%2e', '%00', '%ff', '?', '&a=b', ':', '-', '9', 'A', ';', '@']

/** The text with a piece put in somewhere, and sometimes without its rest. */
export function mutated(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(text, fc.nat(200), fc.constantFrom(...pieces), fc.boolean())
    .map(([whole, where, piece, cut]) => {
      const at = where % (whole.length + 1)
      return whole.slice(0, at) + piece + (cut ? '' : whole.slice(at))
    })
}
