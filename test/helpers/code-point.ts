import fc from 'fast-check'

const surrogates = { first: 0xd800, count: 0x800 }

/**
 * One code point, for `fc.string({ unit: codePoint })`. Draws what fast-check's `binary` does, whose
 * table of all code points costs every process seconds and 140 MB.
 */
export const codePoint = fc.nat(0x10_ffff - surrogates.count).map(
  at => String.fromCodePoint(at < surrogates.first ? at : at + surrogates.count),
  // With the way back, fast-check draws words like `__proto__`, too.
  (text: unknown) => {
    const code = typeof text === 'string' ? (text.codePointAt(0) ?? NaN) : NaN
    if (text !== String.fromCodePoint(code)) throw new Error('not one code point')
    return code < surrogates.first ? code : code - surrogates.count
  },
)
