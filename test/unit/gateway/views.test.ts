import { expect } from 'chai'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { InstanceEntry, JoinedAs } from '../../../src/server/gateway/instance-directory.ts'
import { type View, VisibleInstances } from '../../../src/server/gateway/views/view.ts'
import { Views } from '../../../src/server/gateway/views/views.ts'
import type { Viewer } from '../../../src/server/http/authentication.ts'
import { RequestContext } from '../../../src/server/http/request-context.ts'
import { entry, MemoryDirectory } from '../../helpers/instances.ts'

const idle = { pendingCalls: 0, tools: 0, sessions: 0, streams: 0, subscriptions: 0 }

describe('the views of users', () => {
  /** Names of the views that were asked, opened and closed, in order. */
  let log: string[]
  let views: Views

  beforeEach(() => {
    log = []
    const view = (name: string): View => ({
      endpoint: {
        handle: async () => void log.push(name),
        activity: () => ({ ...idle }),
        close() {},
      },
      download: undefined,
      close: () => void log.push(`close ${name}`),
    })
    views = new Views(view('all'), viewer => {
      const name = `${viewer.accountId} ${viewer.team}`
      log.push(`open ${name}`)
      return view(name)
    })
  })

  const ask = (viewer?: Partial<Viewer>, principal = 'user:x'): void => {
    const all = { accountId: 'ada', username: 'ada', team: 'fx', schemes: null, ...viewer }
    const context = new RequestContext('127.0.0.1')
    context.principal = principal
    context.viewer = viewer && all
    void views.handle({} as IncomingMessage, {} as ServerResponse, context)
  }

  it('are shared by the tokens of one account, by no other, and by no user of another provider', () => {
    ask({}, 'user:ada')
    ask({ schemes: ['scene'] }, 'user:ada token:ci')
    ask()
    ask({ accountId: 'ben' })
    expect(log).to.deep.equal(['open ada fx', 'ada fx', 'ada fx', 'all', 'open ben fx', 'ben fx'])
    ask({ accountId: null }, 'https://idp ada')
    ask({ accountId: null }, 'https://idp ben')
    expect(log.filter(each => each.startsWith('open null'))).to.have.length(2)
  })

  it('are new ones in another team, without what was before', () => {
    for (const team of ['fx', 'lighting', 'fx']) ask({ team })
    expect(log.filter(each => /open|close/.test(each))).to.deep.equal([
      'open ada fx',
      'close ada fx',
      'open ada lighting',
      'close ada lighting',
      'open ada fx',
    ])
  })
})

describe('the instances that a user may see', () => {
  const ben = { accountId: 'id-of-ben', username: 'ben', team: 'fx', schemes: null }
  const joined = (as: Partial<JoinedAs> = {}): JoinedAs => ({
    owner: 'ada',
    accountId: 'id-of-ada',
    team: 'fx',
    name: 'ws',
    visibility: 'team',
    ...as,
  })
  const ofAda = (as: Partial<JoinedAs> = {}) => entry({ joined: joined(as), scene: 'a' })

  it('are their own, their team’s and those for all', () => {
    const cases: [instance: InstanceEntry, isVisible: boolean][] = [
      [ofAda({ accountId: ben.accountId, visibility: 'owner', team: null }), true],
      // Another user of the same name.
      [ofAda({ owner: 'ben', visibility: 'owner' }), false],
      [ofAda(), true],
      [ofAda({ team: 'lighting' }), false],
      [ofAda({ team: null }), false],
      [ofAda({ team: null, visibility: 'all' }), true],
      [entry({}), false],
    ]
    for (const [instance, isVisible] of cases) {
      const all = new MemoryDirectory()
      const visible = new VisibleInstances(all, ben)
      all.put(instance)
      const found = visible.entryOf(instance.record.instance_id)
      expect(found !== undefined, JSON.stringify(instance.record.joined)).to.equal(isVisible)
      expect(visible.entries).to.have.length(isVisible ? 1 : 0)
    }
  })

  it('tell of a hidden one as gone, as it was last seen, and of its return as new', () => {
    const all = new MemoryDirectory()
    const visible = new VisibleInstances(all, ben)
    const told: unknown[] = []
    visible.onChange(changes => {
      for (const { kind, entry: each, isHidden = false } of changes) {
        told.push([kind, each.record.scene, isHidden])
      }
    })
    const instance = ofAda()
    const change = (as: Partial<JoinedAs>, scene: string) =>
      all.put({ ...instance, record: { ...instance.record, joined: joined(as), scene } })
    change({}, 'a')
    change({ visibility: 'owner' }, 'secret')
    change({ visibility: 'owner' }, 'another secret')
    expect(visible.entryOf(instance.record.instance_id)).to.equal(undefined)
    change({}, 'b')
    change({}, 'c')
    all.remove(instance.record.instance_id)
    visible.close()
    all.put(ofAda())
    expect(told).to.deep.equal([
      ['appeared', 'a', false],
      ['gone', 'a', true],
      ['appeared', 'b', false],
      ['changed', 'c', false],
      ['gone', 'c', false],
    ])
  })
})
