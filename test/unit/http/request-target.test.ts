import { expect } from 'chai'
import { parseTarget } from '../../../src/server/http/request-target.ts'

describe('parseTarget', () => {
  const cases: [written: string, target: ReturnType<typeof parseTarget>][] = [
    ['/mcp', { path: '/mcp', url: '/mcp' }],
    ['//evil.example/mcp', { path: '//evil.example/mcp', url: '//evil.example/mcp' }],
    ['*', { path: '*', url: '*' }],
    ['http://localhost/mcp?a', { path: '/mcp', url: '/mcp?a', authority: 'localhost' }],
    ['http://localhost', { path: '/', url: '/', authority: 'localhost' }],
    ['http://localhost/healthz/..', null],
    ['http://u@evil.example/', { path: '/', url: '/', authority: 'u@evil.example' }],
    ['http:///mcp', { path: '/mcp', url: '/mcp', authority: '' }],
    ['/healthz/../api', null],
    ['/healthz/%2E%2e/api', null],
    ['/..a/b../.c/...', { path: '/..a/b../.c/...', url: '/..a/b../.c/...' }],
    ['/a?b=/../#\\', { path: '/a', url: '/a?b=/../#\\' }],
    ['ftp://localhost/mcp', null],
    ['', null],
  ]
  for (const [written, target] of cases) {
    it(`reads "${written}"`, () => expect(parseTarget(written)).to.deep.equal(target))
  }
})
