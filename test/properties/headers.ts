import fc from 'fast-check'
import { stateless } from '../helpers/stateless.ts'
import { hostileTexts, mostly } from './arbitraries.ts'

/** A name may come twice. */
export type Headers = readonly (readonly [name: string, value: string])[]

/** Stands for the id of a live session, of which each run has its own. */
export const sessionPlaces = ['<session 2025-03-26>', '<session 2025-11-25>'] as const

/** Visible characters, as any header can carry them. */
const headerText = fc.oneof(
  fc.string({
    unit: fc
      .integer({ min: 0x20, max: 0xff })
      .filter(code => code < 0x7f || code > 0x9f)
      .map(code => String.fromCharCode(code)),
    maxLength: 30,
  }),
  fc.constantFrom(...hostileTexts.filter(text => /^[\x20-\x7e]*$/.test(text))),
)

/** Is there, with the right value, most of the time; sometimes twice. */
function header(
  name: string,
  right: fc.Arbitrary<string>,
  wrong: fc.Arbitrary<string>,
  oneIn = 40,
): fc.Arbitrary<Headers> {
  const one = mostly(oneIn, right, wrong) as fc.Arbitrary<string>
  return fc.oneof(
    { withCrossShrink: true },
    { weight: oneIn * 3, arbitrary: one.map(value => [[name, value] as const]) },
    { weight: 2, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.tuple(one, wrong).map(two => two.map(value => [name, value] as const)),
    },
  )
}

/** Is there once in so many times. */
const onceIn = (oneIn: number, name: string, value: fc.Arbitrary<string>): fc.Arbitrary<Headers> =>
  fc.oneof(
    { withCrossShrink: true },
    { weight: oneIn - 1, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: value.map(text => [[name, text] as const]) },
  )

export const commonHeaders = fc
  .tuple(
    header(
      'Content-Type',
      fc.constant('application/json'),
      fc.oneof(headerText, fc.constantFrom('text/plain', 'application/json; charset=latin1', ';')),
    ),
    header(
      'Accept',
      fc.constant('application/json, text/event-stream'),
      fc.oneof(headerText, fc.constantFrom('text/html', '*/*', ',,', 'a/b;q=x')),
    ),
    onceIn(20, 'Origin', fc.constantFrom('http://localhost', 'null', 'http://x')),
    onceIn(40, 'Authorization', fc.constantFrom('Bearer x', 'Basic', '')),
    onceIn(40, 'Last-Event-ID', headerText),
    onceIn(10, 'X-Anything', headerText),
  )
  .map(parts => parts.flat())

const wrongVersion = fc.oneof(
  headerText,
  fc.constantFrom('2024-11-05', '1999-01-01', stateless, '2025-11-25', ''),
)
export const sessionHeaders = fc
  .tuple(
    header(
      'Mcp-Session-Id',
      fc.constantFrom<string>(...sessionPlaces),
      fc.oneof(headerText, fc.constant('x'.repeat(500))),
    ),
    header('MCP-Protocol-Version', fc.constant('2025-03-26'), wrongVersion),
    onceIn(30, 'Mcp-Method', headerText),
  )
  .map(parts => parts.flat())

/** As the transport asks for it: other than visible ASCII goes in base64. */
function nameHeader(value: string): string {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?')) return value
  return `=?base64?${Buffer.from(value).toString('base64')}?=`
}

/** Those that repeat what a message of the stateless transport says. */
export function statelessHeadersOf(sent: Readonly<Record<string, unknown>>, version: string) {
  const said = (value: unknown) => (typeof value === 'string' ? nameHeader(value) : 'none')
  const { uri } = (sent.params ?? {}) as Record<string, unknown>
  return fc
    .tuple(
      header('MCP-Protocol-Version', fc.constant(version), wrongVersion),
      header('Mcp-Method', fc.constant(said(sent.method)), headerText),
      header('Mcp-Name', fc.constant(said(uri)), headerText, 20),
      onceIn(20, 'Mcp-Session-Id', fc.oneof(headerText, fc.constantFrom<string>(...sessionPlaces))),
    )
    .map(parts => parts.flat())
}
