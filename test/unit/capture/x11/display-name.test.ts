import { expect } from 'chai'
import { parseDisplayName } from '../../../../src/server/capture/x11/setup.ts'

describe('parseDisplayName', () => {
  for (const [text, expected] of [
    [':0', { host: null, number: 0, screen: 0 }],
    [':99.1', { host: null, number: 99, screen: 1 }],
    ['unix:5', { host: null, number: 5, screen: 0 }],
    ['localhost:10.0', { host: 'localhost', number: 10, screen: 0 }],
    ['127.0.0.1:3', { host: '127.0.0.1', number: 3, screen: 0 }],
  ] as const) {
    it(`reads ${text}`, () => {
      expect(parseDisplayName(text)).to.deep.equal({ ok: true, value: expected })
    })
  }

  for (const [text, part] of [
    [undefined, 'not set'],
    ['', 'not set'],
    ['0', 'no display'],
    [':x', 'no display'],
    [':0.', 'no display'],
    [':0\n', 'no display'],
    ['a:0:0', 'no display'],
    [':59536', 'out of range'],
    ['farm7:0', 'another machine'],
    ['127.0.0.1.example.com:0', 'another machine'],
  ] as const) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      expect(parseDisplayName(text)).to.have.property('failure').that.includes(part)
    })
  }
})
