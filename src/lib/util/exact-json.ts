declare global {
  interface JSON {
    isRawJSON(value: unknown): value is ExactNumber
    rawJSON(text: string): ExactNumber
  }
}

/** A number that a JavaScript number would write with other digits; `JSON.stringify` keeps them. */
export interface ExactNumber {
  readonly rawJSON: string
}

/** What it looks like: 1.0, 1e3, -0, 0.0000001, or 16 digits and more. Others may match, too. */
const maybeInexact =
  /(?:^|[:,[\s])(?:-0(?![.\d])|-?\d+(?:\.0{6}|\.\d*0(?!\d)|(?:\.\d+)?[eE]|[.\d]{15}))/

type Revive = (this: unknown, name: string, value: unknown, context: { source: string }) => unknown
/** A number beyond the range of JavaScript stays Infinity, so that it can be refused. */
const keepDigits: Revive = (_, value, { source }) =>
  Number.isFinite(value) && String(value) !== source ? JSON.rawJSON(source) : value

/** Like `JSON.parse`; numbers come back from `JSON.stringify` as they were written. */
export function parseExact(text: string): unknown {
  return maybeInexact.test(text) ? JSON.parse(text, keepDigits as never) : JSON.parse(text)
}

/** The value of a number or `ExactNumber`; undefined for anything else. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return JSON.isRawJSON(value) ? Number(value.rawJSON) : undefined
}

/** The digits of a number or `ExactNumber`, the same for 1, 1.0 and 1e0; null for anything else. */
export function digitsOf(value: unknown): string | null {
  const text = typeof value === 'number' ? String(value) : JSON.isRawJSON(value) && value.rawJSON
  const parts = text && /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text)
  if (!parts) return null
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  const power = Number(exponent) - fraction.length + digits.length - significant.length
  return `${sign}${significant}e${power}`
}
