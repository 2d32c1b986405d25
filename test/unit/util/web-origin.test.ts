import { expect } from 'chai'
import { parseOrigin } from '../../../src/lib/util/address.ts'

describe('parseOrigin', () => {
  const cases: [text: string, origin: string | null][] = [
    ['https://studio.example', 'https://studio.example'],
    ['HTTPS://Studio.Example', 'https://studio.example'],
    ['https://studio.example:443', 'https://studio.example'],
    ['http://studio.example:80', 'http://studio.example'],
    ['http://studio.example:443', 'http://studio.example:443'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
    ['https://möbel.example', 'https://xn--mbel-5qa.example'],
    ['chrome-extension://abcdef', 'chrome-extension://abcdef'],
    ['https://studio.example/', null],
    ['https://studio.example/a', null],
    ['https://studio.example?a', null],
    ['https://user@studio.example', null],
    ['https://*.example', null],
    ['https://studio.example:99999', null],
    ['https://[::1', null],
    ['https://', null],
    ['file:///a', null],
    ['studio.example', null],
    ['null', null],
    ['', null],
  ]
  for (const [text, origin] of cases) {
    it(`reads "${text}" as ${origin}`, () => expect(parseOrigin(text)).to.equal(origin))
  }
})
