import { expect } from 'chai'
import { accepts, isJsonType } from '../../../src/server/http/media.ts'

describe('media types', () => {
  const jsonTypes: [string | undefined, boolean][] = [
    ['application/json', true],
    ['Application/JSON; charset=utf-8', true],
    ['text/plain', false],
    ['application/jsonl', false],
    [undefined, false],
  ]
  for (const [header, expected] of jsonTypes) {
    it(`${expected ? 'takes' : 'refuses'} Content-Type ${header}`, () => {
      expect(isJsonType(header)).to.equal(expected)
    })
  }

  const accepted: [string | undefined, boolean][] = [
    ['application/json, text/event-stream', true],
    ['text/event-stream;q=0.5', true],
    ['*/*', true],
    ['text/*', true],
    [undefined, true],
    ['application/json', false],
    ['text/event-stream; q=0', false],
    ['', false],
  ]
  for (const [header, expected] of accepted) {
    it(`${expected ? 'allows' : 'excludes'} an event stream by Accept ${header}`, () => {
      expect(accepts(header, 'text/event-stream')).to.equal(expected)
    })
  }
})
