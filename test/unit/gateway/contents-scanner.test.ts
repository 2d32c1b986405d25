import { expect } from 'chai'
import fc from 'fast-check'
import { ContentsScanner } from '../../../src/server/gateway/relay/contents-scanner.ts'
import { codePoint } from '../../helpers/code-point.ts'
import { replay } from '../../properties/replay.ts'

const id = '7'
const outer = 'instance://abc/scene/current'
const renamed = (uri: string, isOwn: boolean) => (isOwn ? outer : `outer:${uri}`)

const answerOf = (contents: unknown, before: object = {}, after: object = {}) => ({
  jsonrpc: '2.0',
  ...before,
  id,
  result: { resultType: 'complete', contents, ttlMs: 0 },
  ...after,
})

/** What the scanner gives on of the answer, which arrives cut at these places. */
function scan(text: string | Buffer, cuts: readonly number[] = [], rename = renamed): string {
  const bytes = Buffer.from(text)
  const scanner = new ContentsScanner({ id, rename })
  const found: Buffer[] = []
  const places = [...new Set(cuts.map(cut => cut % (bytes.length + 1)))].toSorted((a, b) => a - b)
  let from = 0
  for (const place of [...places, bytes.length]) {
    scanner.push(bytes.subarray(from, place), found)
    from = place
  }
  scanner.end()
  return Buffer.concat(found).toString()
}

/** As the scanner is to rename: `uri` of each of the contents. */
function expected(contents: readonly Record<string, unknown>[]): unknown {
  return contents.map((content, at) => {
    const { uri } = content
    return typeof uri === 'string' ? { ...content, uri: renamed(uri, at === 0) } : content
  })
}

const text = fc.string({ unit: codePoint, maxLength: 20 })
const name = fc.oneof(text, fc.constantFrom('uri', 'id', 'contents', 'error', 'text'))
const value = fc.letrec(tie => ({
  any: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.constant('\\"{[]}:,\ud800\u2028'),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(
      name.filter(each => each !== '__proto__'),
      tie('any'),
      { maxKeys: 4, noNullPrototype: true },
    ),
  ),
})).any
const content = fc.record({ uri: text, text, _meta: value }, { requiredKeys: [] })
const escaped = (json: string) =>
  json.replace(
    /[^\n\r\t -~]|u(?=ri")/g,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

describe('the scanner of contents', () => {
  it('gives the contents of any answer that is cut anywhere, with other URIs', () => {
    fc.assert(
      fc.property(
        fc.array(content, { maxLength: 4 }),
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.dictionary(
          name.filter(each => !['id', 'result', 'error', '__proto__'].includes(each)),
          value,
          { maxKeys: 3, noNullPrototype: true },
        ),
        fc.constantFrom(0, 2, '\r\n\t'),
        fc.boolean(),
        (contents, cuts, more, space, isEscaped) => {
          const json = JSON.stringify(answerOf(contents, more, more), null, space)
          // Lone surrogates are written as escapes, so that the text survives as UTF-8.
          const sent = isEscaped ? escaped(json) : json.toWellFormed()
          const wanted = JSON.parse(sent).result.contents
          expect(JSON.parse(scan(sent, cuts))).to.deep.equal(expected(wanted))
        },
      ),
      replay(500, 20_000),
    )
  })

  it('leaves every byte but the URIs as it came, cut at every place', () => {
    const contents = String.raw`[ {"uri":"scene:\/\/current" , "text":"é\u00e9\n\\\"]}","n":1.50e+2},
      {"\u0075ri":"app://x","_meta":{"uri":"kept","a":[{"uri":"kept"}],"uri2":"u"}} ]`
    const sent = `{"id":"7","result":{"_meta":{"contents":[1]},"contents":${contents}}}`
    const wanted = contents
      .replace(String.raw`"scene:\/\/current"`, JSON.stringify(outer))
      .replace('"app://x"', '"outer:app://x"')
    for (let cut = 0; cut <= Buffer.byteLength(sent); cut++) {
      expect(scan(sent, [cut, cut + 1])).to.equal(wanted)
    }
  })

  it('holds nothing of a huge text', () => {
    const scanner = new ContentsScanner({ id, rename: renamed })
    const found: Buffer[] = []
    scanner.push(Buffer.from(`{"id":"7","result":{"contents":[{"uri":"u","blob":"`), found)
    found.length = 0
    const piece = Buffer.alloc(64 * 1024, 'A')
    for (let at = 0; at < 1000; at++) {
      scanner.push(piece, found)
      const [only] = found.splice(0)
      expect(only?.buffer === piece.buffer && only.length === piece.length).to.equal(true)
    }
    scanner.push(Buffer.from('"}]}}'), found)
    scanner.end()
    expect(Buffer.concat(found).toString()).to.equal('"}]')
  })

  const contents = '"contents":[{"uri":"u"}]'
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const long = 'x'.repeat(300_000)
  const bad: readonly [what: string, sent: string, says: string][] = [
    ['has another id', `{"id":"8","result":{${contents}}}`, 'another request'],
    ['has another id at its end', `{"result":{${contents}},"id":"8"}`, 'another request'],
    ['has a number as its id', `{"id":7,"result":{${contents}}}`, 'not whole'],
    ['has no contents', '{"id":"7","result":{}}', 'not whole'],
    ['has contents that are no list', '{"id":"7","result":{"contents":{}}}', 'no contents'],
    ['has contents twice', `{"id":"7","result":{${contents},${contents}}}`, 'has no contents'],
    ['ends before its last bracket', `{"id":"7","result":{${contents}}`, 'not whole'],
    ['has brackets that do not match', '{"id":"7","result":{"contents":[{]}}}', 'do not match'],
    ['has a bracket too many', `{"id":"7","result":{${contents}}}}`, 'do not match'],
    ['is nested without end', `{"id":"7","x":${nested(65)}}`, 'too deep'],
    ['has a name without end', `{"${'n'.repeat(17_000)}`, 'without end'],
    ['has a name that is no JSON', '{"\\x":1}', 'not JSON'],
    ['has a URI with a line break', '{"result":{"contents":[{"uri":"a\nb"}]}}', 'not JSON'],
    ['has much before its contents', `{"x":"${long}","id":"7"}`, 'too much around'],
    [
      'has much after its contents',
      `{"id":"7","result":{${contents},"x":"${long}"}}`,
      'too much around',
    ],
  ]
  for (const [what, sent, says] of bad) {
    it(`refuses an answer that ${what}`, () => {
      const bytes = Buffer.from(sent)
      const everyByte = Array.from({ length: Math.min(bytes.length, 500) }, (_, at) => at)
      for (const cuts of [[], everyByte]) expect(() => scan(bytes, cuts), sent).to.throw(says)
    })
  }
})
