import { expect } from 'chai'
import { PendingCalls } from '../../../src/server/mcp/endpoint.ts'
import { JsonText } from '../../../src/server/mcp/json-text.ts'
import type { ResourceMethods } from '../../../src/server/mcp/resource-methods.ts'

const answer = JsonText.of({})

function methods(read: ResourceMethods['read']): ResourceMethods {
  const other = () => answer
  return { list: other, listTemplates: other, read, complete: other }
}

describe('PendingCalls', () => {
  it('counts what takes time, until it is answered or has failed', async () => {
    const pending = new PendingCalls()
    const first = Promise.withResolvers<JsonText>()
    const second = Promise.withResolvers<JsonText>()
    const promises = [first.promise, second.promise]
    const counted = pending.of(methods(() => promises.shift() ?? answer))
    const reads = [counted.read({}), counted.read({})]
    expect(pending.count).to.equal(2)
    first.resolve(answer)
    expect(await reads[0]).to.equal(answer)
    expect(pending.count).to.equal(1)
    second.reject(new Error('failed'))
    const failed = await Promise.resolve(reads[1]).catch((error: Error) => error.message)
    expect(failed).to.equal('failed')
    expect(pending.count).to.equal(0)
  })

  it('passes on at once what is there at once, and what throws', () => {
    const pending = new PendingCalls()
    expect(pending.of(methods(() => answer)).read({})).to.equal(answer)
    const throwing = pending.of(
      methods(() => {
        throw new Error('no')
      }),
    )
    expect(() => throwing.read({})).to.throw('no')
    expect(pending.count).to.equal(0)
  })
})
