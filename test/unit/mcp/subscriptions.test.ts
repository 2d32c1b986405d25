import { expect } from 'chai'
import {
  SubscriptionHub,
  type Subscriber,
  type Topic,
} from '../../../src/server/mcp/subscriptions.ts'

class Recorder implements Subscriber {
  readonly told: string[] = []

  resourceUpdated(topic: Topic): void {
    this.told.push(topic.uri)
  }

  listChanged(): void {
    this.told.push('list')
  }
}

/** A recorder the hub knows. */
function added(hub: SubscriptionHub): Recorder {
  const recorder = new Recorder()
  hub.add(recorder)
  return recorder
}

describe('SubscriptionHub', () => {
  const limits = { maxSubscriptions: 5, maxPerClient: 3 }

  it('counts a repeated subscription once', () => {
    const hub = new SubscriptionHub(limits)
    const one = added(hub)
    void hub.subscribe(one, 'a://1')
    void hub.subscribe(one, 'a://1')
    added(hub)
    expect(hub.size).to.deep.equal({ subscriptions: 1, subscribers: 1 })
    hub.unsubscribe(one, 'a://1')
    hub.resourceUpdated('a://1')
    expect(one.told).to.deep.equal([])
    expect(hub.size).to.deep.equal({ subscriptions: 0, subscribers: 0 })
  })

  it('takes another spelling also where there is no room for another subscription', () => {
    const hub = new SubscriptionHub({ maxSubscriptions: 1, maxPerClient: 1 })
    const one = added(hub)
    void hub.subscribe(one, 'a://1')
    void hub.subscribe(one, 'A://1', 'a://1')
    expect(hub.size.subscriptions).to.equal(1)
  })

  it('forgets everything of a removed subscriber', () => {
    const hub = new SubscriptionHub(limits)
    const one = added(hub)
    void hub.subscribe(one, 'a://1')
    void hub.subscribe(one, 'a://2')
    hub.remove(one)
    hub.resourceUpdated('a://1')
    hub.listChanged()
    expect(one.told).to.deep.equal([])
    expect(hub.size).to.deep.equal({ subscriptions: 0, subscribers: 0 })
    expect(() => hub.subscribe(one, 'a://1'), 'it does not come back').to.throw('has ended')
    expect(hub.size).to.deep.equal({ subscriptions: 0, subscribers: 0 })
  })

  it('refuses more than a session may hold, and more than the server may hold', () => {
    const hub = new SubscriptionHub(limits)
    const one = added(hub)
    for (const uri of ['a://1', 'a://2', 'a://3']) void hub.subscribe(one, uri)
    expect(() => hub.subscribe(one, 'a://4')).to.throw('may subscribe to 3')
    const other = added(hub)
    void hub.subscribe(other, 'a://1')
    void hub.subscribe(other, 'a://2')
    expect(() => hub.subscribe(other, 'a://3')).to.throw('as many subscriptions as it may')
    hub.remove(one)
    void hub.subscribe(other, 'a://3')
    expect(hub.size.subscriptions).to.equal(3)
  })

  describe('of a URI whose updates arrive later', () => {
    it('tells every subscriber when they do, and asks for them once', async () => {
      const arrived = Promise.withResolvers<void>()
      const asked: string[] = []
      const hub = new SubscriptionHub(limits, (uri, isFollowed) => {
        asked.push(`${uri} ${isFollowed}`)
        return isFollowed ? arrived.promise : undefined
      })
      const [one, other] = [added(hub), added(hub)]
      const opened = [hub.subscribe(one, 'a://1'), hub.subscribe(other, 'a://1?x=1')]
      arrived.resolve()
      await Promise.all(opened)
      expect(hub.subscribe(added(hub), 'a://1')).to.equal(undefined)
      expect(opened.every(each => each instanceof Promise)).to.equal(true)
      hub.remove(one)
      hub.remove(other)
      expect(asked).to.deep.equal(['a://1 true'])
    })

    it('fails for every subscriber, and is asked for again by the next one', async () => {
      let asked = 0
      const hub = new SubscriptionHub(limits, (_, isFollowed) =>
        isFollowed ? Promise.reject(new Error(`refused ${++asked}`)) : undefined,
      )
      const [one, other] = [added(hub), added(hub)]
      const opened = [hub.subscribe(one, 'a://1'), hub.subscribe(other, 'a://1')]
      const failures = await Promise.allSettled(opened)
      expect(failures.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
      hub.remove(one)
      hub.remove(other)
      const again = await Promise.allSettled([hub.subscribe(added(hub), 'a://1')])
      expect(again[0]).to.have.nested.property('reason.message', 'refused 2')
    })
  })
})
