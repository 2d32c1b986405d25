import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { toProblem } from '../../../src/server/http/problem.ts'

describe('toProblem', () => {
  it('carries message, hint and public facts', () => {
    const error = new ServiceError('body_invalid', 'the body is wrong', {
      hint: 'send another',
      data: { errors: [{ pointer: '/a', detail: 'must be a string' }] },
    })
    expect(toProblem(error)).to.deep.equal({
      type: 'urn:service:problem:body-invalid',
      title: 'Bad Request',
      status: 400,
      detail: 'the body is wrong',
      code: 'body-invalid',
      hint: 'send another',
      errors: [{ pointer: '/a', detail: 'must be a string' }],
    })
  })

  it('does not let facts overwrite the members of the problem', () => {
    const data = { status: 200, code: 'fine', detail: 'x', type: 'y', title: 'z' }
    const problem = toProblem(new ServiceError('request_refused', 'no', { data }))
    expect(problem).to.include({ status: 403, code: 'request-refused', detail: 'no' })
    expect(problem.title).to.equal('Forbidden')
  })

  for (const error of [
    new Error('ENOENT /home/anna/secret'),
    '/home/anna/secret',
    new ServiceError('storage_failed', 'cannot write /home/anna/secret', {
      hint: 'look at /home/anna/secret',
      data: { path: '/home/anna/secret' },
    }),
    new ServiceError('registry_dir_unsafe', 'the folder /home/anna/secret is open'),
  ]) {
    it(`says nothing of this machine for ${String(error).slice(0, 40)}`, () => {
      const problem = toProblem(error)
      expect(problem.status).to.equal(500)
      expect(JSON.stringify(problem)).not.to.contain('anna')
      expect(problem).to.have.all.keys('type', 'title', 'status', 'detail', 'code')
    })
  }
})
