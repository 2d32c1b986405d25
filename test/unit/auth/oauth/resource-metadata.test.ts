import { expect } from 'chai'
import {
  resourceMetadata,
  resourceMetadataPaths,
  resourceMetadataUrl,
} from '../../../../src/server/auth/oauth/policy.ts'

const root = '/.well-known/oauth-protected-resource'

describe('the metadata of the resource', () => {
  const places: [resource: string, url: string, paths: string[]][] = [
    ['https://h/mcp', `https://h${root}/mcp`, [`${root}/mcp`, root]],
    ['http://[::1]:8765/mcp', `http://[::1]:8765${root}/mcp`, [`${root}/mcp`, root]],
    [
      'https://h/blender/a/mcp',
      `https://h${root}/blender/a/mcp`,
      [`${root}/blender/a/mcp`, `${root}/mcp`, root],
    ],
  ]
  for (const [resource, url, paths] of places) {
    it(`of ${resource} is where clients look first`, () => {
      expect(resourceMetadataUrl(resource)).to.equal(url)
      expect(resourceMetadataPaths(resource)).to.deep.equal(paths)
    })
  }

  it('never offers the scope of refresh tokens, and no empty list', () => {
    const parts = { resource: 'https://h/mcp', issuer: 'https://i' }
    expect(resourceMetadata({ ...parts, scopes: ['a'] }).scopes_supported).to.deep.equal(['a'])
    expect(resourceMetadata({ ...parts, scopes: [] })).not.to.have.property('scopes_supported')
  })
})
