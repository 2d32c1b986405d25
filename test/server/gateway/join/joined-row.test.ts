import { expect } from 'chai'
import { defaultGatewayLimits } from '../../../../src/lib/config/gateway-limits.ts'
import { toldOf } from '../../../../src/server/gateway/postgres/joined-table.ts'
import { toldRecord } from '../../../helpers/hostile-instance.ts'

const instanceId = '01234567-89ab-cdef-0123-456789abcdef'
const principal = { accountId: 'a', owner: 'ada', team: null, name: 'farm' }
const times = { link: 1, gateway: null, cause: '', lostMs: null, isOver: false, change: 1 }
const told = (text: string) => {
  const record = JSON.stringify(toldRecord(instanceId))
  return toldOf({ instanceId, principal: text, record, ...times }, defaultGatewayLimits)
}

describe('the row of a joined instance', () => {
  it('is of a user, or says that it is damaged', () => {
    const known = told(JSON.stringify(principal))
    expect(known.ok && known.value.record.joined).to.deep.include(principal)
    const damaged = ['', '{', 'null', '[]', '{}', ...[7, null, { toString: 0 }].map(ownerOf)]
    for (const text of damaged) {
      expect(told(text), text).to.deep.equal({ ok: false, failure: 'its user is damaged' })
    }
  })
})

function ownerOf(owner: unknown): string {
  return JSON.stringify({ ...principal, owner })
}
