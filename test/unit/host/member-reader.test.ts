import { expect } from 'chai'
import { MemberReader } from '../../../src/lib/host-link/member-reader.ts'

describe('MemberReader', () => {
  it('takes names that objects have of their own only when they were sent', () => {
    const sent = new MemberReader(JSON.parse('{"__proto__":"a","toString":"b"}'), '')
    expect([sent.text('__proto__'), sent.text('toString')]).to.deep.equal(['a', 'b'])
    const empty = new MemberReader({}, '')
    expect([empty.text('__proto__'), empty.text('toString')]).to.deep.equal([undefined, undefined])
    expect([sent.failure, empty.failure]).to.deep.equal([null, null])
  })

  it('names the first member that is not known', () => {
    const reader = new MemberReader({ k0: 1, k1: 1, k2: 1 }, '/x')
    reader.any('k0')
    expect(reader.failure).to.deep.equal({ pointer: '/x/k1', detail: 'is not known here' })
  })
})
