import { expect } from 'chai'
import { defaultLimits } from '../../../../src/lib/config/limits.ts'
import { silentLogger } from '../../../../src/lib/util/logger.ts'
import { systemClock } from '../../../../src/lib/util/time.ts'
import type { LinkClient } from '../../../../src/server/gateway/join/link-client.ts'
import { JoinedDirectory } from '../../../../src/server/gateway/join/joined-directory.ts'
import { entry } from '../../../helpers/memory-directory.ts'
import { ManualTime } from '../../resources/manual-time.ts'

const principal = { accountId: 'account', owner: 'ada', team: null, name: 'ws' }
// Nothing is asked of it.
const client = {} as LinkClient

describe('JoinedDirectory', () => {
  let directory: JoinedDirectory
  beforeEach(() => {
    const parts = { limits: defaultLimits, clock: systemClock, timer: new ManualTime() }
    directory = new JoinedDirectory({ ...parts, log: silentLogger })
  })
  afterEach(() => directory.close())

  const told = (scene: string) => ({ principal, record: { ...known.record, scene } })
  const known = entry()
  const join = (replaced = () => {}) => {
    const admitted = directory.admit({ told: told('a'), client, replaced })
    if (!admitted.ok) throw new Error(admitted.failure)
    return admitted.value
  }
  const healths = () => directory.entries.map(({ verdict }) => verdict.health)

  it('keeps an instance stale whose record is read after the loss of its link', () => {
    const membership = join()
    membership.lose('the connection was cut')
    membership.change(told('b'))
    expect(healths()).to.deep.equal(['stale'])
  })

  it('takes nothing from a link that a newer one has replaced', () => {
    let replaced = 0
    const first = join(() => void replaced++)
    join()
    first.change(told('b'))
    first.lose('the connection was cut')
    first.end('it stopped')
    expect([replaced, healths(), directory.entries[0]?.record.scene]).to.deep.equal([
      1,
      ['live'],
      'a',
    ])
  })
})
