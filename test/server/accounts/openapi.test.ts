import { expect } from 'chai'
import { auth, openAccountsServer } from './harness.ts'

describe('OpenAPI document', () => {
  it('is of version 3.1 and has every route, with the schemas that check it', async () => {
    const { call } = await openAccountsServer()
    const { json } = await call('GET', '/openapi.json')
    expect(json.openapi).to.equal('3.1.0')
    const operations = Object.entries<object>(json.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(method => `${method} ${path}`),
    )
    expect(operations).to.have.members([
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
    ])
    const { requestBody, responses } = json.paths[`${auth}/register`].post
    const problem = responses.default.content['application/problem+json'].schema
    const request = requestBody.content['application/json'].schema
    expect(problem.required).to.deep.equal(['type', 'title', 'status', 'code'])
    const refused = await call('GET', `${auth}/me`)
    expect(refused.headers['content-type']).to.equal('application/problem+json')
    expect(refused.json).to.include.keys('type', 'title', 'status', 'detail', 'code')
    expect(request).to.deep.include({
      additionalProperties: false,
      required: ['username', 'email', 'password'],
    })
    expect(request).to.have.nested.property('properties.password.minLength', 8)
  })
})
