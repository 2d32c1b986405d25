import { expect } from 'chai'
import { hashOfSecret } from '../../../src/server/accounts/service-tokens.ts'
import { exercised } from './openapi-check.ts'
import { auth, password, withAccountsServer } from './harness.ts'

describe('OpenAPI document', () => {
  it('is of version 3.1 and has every route, with the schemas that check it', () =>
    withAccountsServer(async ({ call }) => {
      const { json } = await call('GET', '/openapi.json')
      expect(json.openapi).to.equal('3.1.0')
      const operations = Object.entries<object>(json.paths).flatMap(([path, methods]) =>
        Object.keys(methods).map(method => `${method} ${path}`),
      )
      expect(operations.toSorted()).to.deep.equal(
        [
          `post ${auth}/register`,
          `post ${auth}/login`,
          `post ${auth}/refresh`,
          `get ${auth}/me`,
          `post ${auth}/logout`,
          `put ${auth}/password`,
          `post ${auth}/reset`,
          `post ${auth}/tokens`,
          `get ${auth}/tokens`,
          `delete ${auth}/tokens/{id}`,
          'get /.well-known/jwks.json',
          'get /healthz',
          'get /readyz',
          'get /openapi.json',
        ].toSorted(),
      )
      const { RegisterRequest } = json.components.schemas
      expect(RegisterRequest).to.deep.include({
        additionalProperties: false,
        required: ['username', 'email', 'password'],
      })
      expect(RegisterRequest).to.have.nested.property('properties.password.minLength', 8)
    }))

  it('foresees the success of every route', () =>
    withAccountsServer(async ({ call, register, store, clock }) => {
      exercised.clear()
      const { access_token: token, account } = await register('alice')
      const body = { username: 'alice', password }
      const other = (await call('POST', `${auth}/login`, { body })).json
      await call('POST', `${auth}/refresh`, { token })
      await call('GET', `${auth}/me`, { token })
      const made = (await call('POST', `${auth}/tokens`, { token, body: { name: 'ci' } })).json
      await call('GET', `${auth}/tokens`, { token })
      await call('DELETE', `${auth}/tokens/${made.id}`, { token })
      const next = { current_password: password, new_password: 'another honest phrase' }
      await call('PUT', `${auth}/password`, { token, body: next })
      await call('POST', `${auth}/logout`, { token })
      const hash = hashOfSecret('rst_code')
      await store.createResetCode({ accountId: account.id, hash, expiresAtMs: clock.nowMs + 1000 })
      const reset = { username: 'alice', code: 'rst_code', new_password: password }
      await call('POST', `${auth}/reset`, { body: reset })
      for (const path of ['/.well-known/jwks.json', '/healthz', '/readyz', '/openapi.json']) {
        await call('GET', path)
      }
      expect(other.refresh_token).to.match(/^srt_/)
      const done = Array.from(exercised).filter(line => / 20[014]$/.test(line))
      expect(done).to.have.length(14)
    }))
})
