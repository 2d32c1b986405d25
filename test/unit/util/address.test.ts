import { expect } from 'chai'
import { isLoopback, parseOrigin } from '../../../src/lib/util/net.ts'
import { localBase } from '../../../src/server/http/listen-options.ts'

describe('isLoopback', () => {
  const cases: [host: string, expected: boolean][] = [
    ['127.8.9.1', true],
    ['[::1]', true],
    ['LocalHost', true],
    ['::ffff:127.0.0.1', true],
    ['::ffff:192.168.1.2', false],
    ['127.1', false],
    ['0.0.0.0', false],
    ['[::]', false],
    ['127.evil.example', false],
    ['localhost.evil.example', false],
  ]
  for (const [host, expected] of cases) {
    it(`is ${expected} for ${host}`, () => expect(isLoopback(host)).to.equal(expected))
  }
})

describe('localBase', () => {
  const cases: [host: string, base: string][] = [
    ['127.0.0.1', 'http://127.0.0.1:80'],
    ['::1', 'http://[::1]:80'],
    ['studio.example', 'http://studio.example:80'],
    ['0.0.0.0', 'http://127.0.0.1:80'],
    ['::', 'http://127.0.0.1:80'],
  ]
  for (const [host, base] of cases) {
    it(`is ${base} for a server on ${host}`, () => {
      expect(localBase(host, 80)).to.equal(base)
    })
  }
})

describe('parseOrigin', () => {
  const cases: [text: string, origin: string | null][] = [
    ['HTTPS://Studio.Example', 'https://studio.example'],
    ['https://studio.example:443', 'https://studio.example'],
    ['http://studio.example:443', 'http://studio.example:443'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
    ['https://möbel.example', 'https://xn--mbel-5qa.example'],
    ['chrome-extension://abcdef', 'chrome-extension://abcdef'],
    ['https://studio.example/', null],
    ['https://studio.example?a', null],
    ['https://user@studio.example', null],
    ['https://*.example', null],
    ['https://studio.example:99999', null],
    ['https://', null],
    ['file:///a', null],
    ['studio.example', null],
    ['null', null],
  ]
  for (const [text, origin] of cases) {
    it(`reads "${text}" as ${origin}`, () => expect(parseOrigin(text)).to.equal(origin))
  }
})
