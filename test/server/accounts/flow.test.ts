import { expect } from 'chai'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { issuer, password, withRegistry } from './harness.ts'

const auth = '/api/v1/auth'

describe('registry', () => {
  it('registers, logs in, refreshes and answers me', () =>
    withRegistry(async ({ call, register }) => {
      const made = await register('Alice')
      expect(made.account).to.include({ username: 'Alice', email: 'Alice@studio.example' })
      const login = await call('POST', `${auth}/login`, { body: { username: 'alice', password } })
      expect(login.status).to.equal(200)
      const fresh = await call('POST', `${auth}/refresh`, { token: login.json.access_token })
      expect(fresh.status).to.equal(200)
      const me = await call('GET', `${auth}/me`, { token: fresh.json.access_token })
      expect(me.json).to.include({ username: 'Alice' })
    }))
})
