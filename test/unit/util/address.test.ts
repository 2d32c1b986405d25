import { expect } from 'chai'
import {
  isLoopback,
  isWildcard,
  localBase,
  withoutBrackets,
} from '../../../src/lib/util/address.ts'

describe('isLoopback', () => {
  const cases: [host: string, expected: boolean][] = [
    ['127.0.0.1', true],
    ['127.8.9.1', true],
    ['::1', true],
    ['[::1]', true],
    ['localhost', true],
    ['LocalHost', true],
    ['::ffff:127.0.0.1', true],
    ['::ffff:192.168.1.2', false],
    ['127.1', false],
    ['0.0.0.0', false],
    ['::', false],
    ['[::]', false],
    ['[fd00::1]', false],
    ['192.168.1.2', false],
    ['127.evil.example', false],
    ['localhost.evil.example', false],
  ]
  for (const [host, expected] of cases) {
    it(`is ${expected} for ${host}`, () => {
      expect(isLoopback(host)).to.equal(expected)
    })
  }
})

describe('withoutBrackets', () => {
  for (const [host, plain] of [
    ['[::1]', '::1'],
    ['::1', '::1'],
    ['localhost', 'localhost'],
    ['[', '['],
  ] as const) {
    it(`makes ${plain} of ${host}`, () => {
      expect(withoutBrackets(host)).to.equal(plain)
    })
  }
})

describe('localBase', () => {
  for (const [host, base, wildcard] of [
    ['127.0.0.1', 'http://127.0.0.1:80', false],
    ['::1', 'http://[::1]:80', false],
    ['studio.example', 'http://studio.example:80', false],
    ['0.0.0.0', 'http://127.0.0.1:80', true],
    ['::', 'http://127.0.0.1:80', true],
  ] as const) {
    it(`is ${base} for a server on ${host}`, () => {
      expect(localBase(host, 80)).to.equal(base)
      expect(isWildcard(host)).to.equal(wildcard)
    })
  }
})
