import { once } from 'node:events'
import { expect } from 'chai'
import { CimdDocument } from '../../../src/lib/auth/cimd-document.ts'
import { validateBearerToken } from '../../../src/lib/auth/validate-bearer-token.ts'

describe('helpers of the specification', () => {
  it('take redirect URIs with the scheme of an application', () => {
    const redirectUris = ['cursor://callback', 'com.example.app:/callback', 'http://[::1]:8/cb']
    const { redirect_uris } = new CimdDocument({ clientName: 'n', redirectUris }).toDict()
    expect(redirect_uris).to.deep.equal(redirectUris)
  })

  it('warn on the process when no token is expected', async () => {
    const warned = once(process, 'warning')
    expect(validateBearerToken({}, { expectedToken: null })).to.equal(true)
    expect((await warned)[0].code).to.equal('SERVICE_AUTH_DISABLED')
  })
})
