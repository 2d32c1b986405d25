import { expect } from 'chai'
import { checkLimits } from '../../../src/lib/config/limits.ts'
import { McpHttpServer } from '../../../src/server/mcp-http-server.ts'

describe('checkLimits', () => {
  it('returns the given limits without undefined ones', () => {
    const given = { maxSessions: 5, maxArtefactBytes: 0, pageSize: undefined }
    expect(checkLimits(given)).to.deep.equal({ maxSessions: 5, maxArtefactBytes: 0 })
    expect(checkLimits()).to.deep.equal({})
  })

  const wrong: [string, object][] = [
    ['an unknown name', { maxSession: 1 }],
    ['a negative number', { maxSessions: -1 }],
    ['a fraction', { maxSessions: 1.5 }],
    ['an empty page', { pageSize: 0 }],
    ['a time that no timer can wait', { captureMs: 2 ** 31 }],
  ]
  for (const [what, limits] of wrong) {
    it(`refuses ${what}`, () => {
      const [name = ''] = Object.keys(limits)
      expect(() => checkLimits(limits)).to.throw(TypeError, name)
      expect(() => new McpHttpServer({ limits })).to.throw(TypeError, name)
    })
  }
})
