import { expect } from 'chai'
import { MemberReader } from '../../../src/lib/util/member-reader.ts'

describe('MemberReader', () => {
  it('takes names that objects have of their own only when they were sent', () => {
    const sent = new MemberReader(JSON.parse('{"__proto__":"a","toString":"b"}'), '')
    expect([sent.text('__proto__'), sent.text('toString')]).to.deep.equal(['a', 'b'])
    const empty = new MemberReader({}, '')
    expect([empty.text('__proto__'), empty.text('toString')]).to.deep.equal([undefined, undefined])
    expect([sent.failure, empty.failure]).to.deep.equal([null, null])
  })

  it('names the first of many members that are not known', () => {
    const members = Array.from({ length: 1000 }, (_, index) => [`k${index}`, 1])
    const reader = new MemberReader(Object.fromEntries(members), '/x')
    reader.any('k0')
    expect(reader.failure).to.deep.equal({ pointer: '/x/k1', detail: 'is not known here' })
  })

  it('copies nothing of an object with half a million members', () => {
    const members = Object.fromEntries(Array.from({ length: 500_000 }, (_, n) => [`k${n}`, n]))
    let looked = 0
    const counted = new Proxy(members, {
      ownKeys: target => Reflect.ownKeys(target),
      get: (target, name) => {
        looked++
        return Reflect.get(target, name)
      },
    })
    const reader = new MemberReader(counted, '', 'pass')
    expect([reader.any('k7'), reader.failure, looked]).to.deep.equal([7, null, 1])
  })
})
