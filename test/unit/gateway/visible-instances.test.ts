import { expect } from 'chai'
import type {
  InstanceChange,
  InstanceEntry,
  JoinedAs,
} from '../../../src/server/gateway/instance-directory.ts'
import { VisibleInstances } from '../../../src/server/gateway/views/visible-instances.ts'
import { entry, MemoryDirectory } from '../../helpers/memory-directory.ts'

const ben = { accountId: 'id-of-ben', username: 'ben', team: 'fx', schemes: null }

describe('the instances that a user may see', () => {
  let all: MemoryDirectory
  let visible: VisibleInstances
  let told: InstanceChange[]

  beforeEach(() => {
    all = new MemoryDirectory()
    visible = new VisibleInstances(all, ben)
    told = []
    visible.onChange(changes => void told.push(...changes))
  })

  const joined = (as: Partial<JoinedAs> = {}): JoinedAs => ({
    owner: 'ada',
    accountId: 'id-of-ada',
    team: 'fx',
    name: 'ws',
    visibility: 'team',
    ...as,
  })
  const ofAda = (as: Partial<JoinedAs> = {}, scene = 'a') => entry({ joined: joined(as), scene })
  const seen = () => visible.entries.map(({ record }) => record.scene)

  const cases: [title: string, instance: InstanceEntry, isVisible: boolean][] = [
    ['their own', ofAda({ accountId: ben.accountId, visibility: 'owner', team: null }), true],
    ['that of another user of the same name', ofAda({ owner: 'ben', visibility: 'owner' }), false],
    ['that of their team', ofAda(), true],
    ['that of another team', ofAda({ team: 'lighting' }), false],
    ['that of an owner without a team', ofAda({ team: null }), false],
    ['one for all', ofAda({ team: null, visibility: 'all' }), true],
    ['one of the gateway’s machine', entry({}), false],
  ]
  for (const [title, instance, isVisible] of cases) {
    it(`${isVisible ? 'hold' : 'leave out'} ${title}`, () => {
      all.put(instance)
      expect([visible.entries.length, told.length]).to.deep.equal(isVisible ? [1, 1] : [0, 0])
      expect(visible.entryOf(instance.record.instance_id) !== undefined).to.equal(isVisible)
    })
  }

  it('tell of a hidden one as gone, as it was last seen, and of its return as new', () => {
    const instance = ofAda()
    const { instance_id: instanceId } = instance.record
    all.put(instance)
    const change = (as: Partial<JoinedAs>, scene: string) =>
      all.put({ ...instance, record: { ...instance.record, joined: joined(as), scene } })
    change({ visibility: 'owner' }, 'secret')
    change({ visibility: 'owner' }, 'another secret')
    expect(seen()).to.deep.equal([])
    expect(visible.entryOf(instanceId)).to.equal(undefined)
    change({}, 'b')
    change({}, 'c')
    all.remove(instanceId)
    const shown = told.map(each => [each.kind, each.entry.record.scene, each.isHidden === true])
    expect(shown).to.deep.equal([
      ['appeared', 'a', false] as const,
      ['gone', 'a', true] as const,
      ['appeared', 'b', false] as const,
      ['changed', 'c', false] as const,
      ['gone', 'c', false],
    ])
  })

  it('tell nothing of faults, nor after the end, and leave the directory of all open', async () => {
    all.fault({ source: 'x.json', reason: 'invalid' })
    visible.close()
    all.put(ofAda())
    expect([told, all.listening]).to.deep.equal([[], 0])
  })
})
