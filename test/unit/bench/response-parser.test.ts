import { expect } from 'chai'
import { ResponseParser, type Answer } from '../../../bench/load/response-parser.ts'

const sized = 'HTTP/1.1 200 OK\r\nMcp-Session-Id: abc\r\ncontent-length: 5\r\n\r\nhello'
const empty = 'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n'
const chunked =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n'

function parseInPieces(text: string, size: number): Answer[] {
  const answers: Answer[] = []
  const parser = new ResponseParser(answer => answers.push(answer))
  parser.keepBody = true
  // One buffer for all pieces, as the connection reads them.
  const shared = Buffer.alloc(size)
  for (let at = 0; at < text.length; at += size) {
    const written = shared.write(text.slice(at, at + size), 'latin1')
    parser.feed(shared.subarray(0, written))
  }
  return answers
}

describe('bench response parser', () => {
  const all = sized + empty + chunked + sized
  for (const size of [1, 2, 3, 7, 16, 64, all.length]) {
    it(`finds every answer in pieces of ${size} bytes`, () => {
      const answers = parseInPieces(all, size)
      expect(
        answers.map(({ status, bytes, body }) => [status, bytes, body.toString()]),
      ).to.deep.equal([
        [200, 5, 'hello'],
        [202, 0, ''],
        [200, 13, 'abc0123456789'],
        [200, 5, 'hello'],
      ])
    })
  }

  it('hands over the head', () => {
    expect(parseInPieces(sized, 10)[0]?.head).to.include('Mcp-Session-Id: abc')
  })

  it('answers nothing before the last byte', () => {
    for (const whole of [sized, empty, chunked]) {
      expect(parseInPieces(whole.slice(0, -1), 8)).to.deep.equal([])
    }
  })

  it('counts a body it does not keep', () => {
    const answers: Answer[] = []
    new ResponseParser(answer => answers.push(answer)).feed(Buffer.from(chunked))
    expect(answers.map(({ bytes, body }) => [bytes, body.length])).to.deep.equal([[13, 0]])
  })
})
