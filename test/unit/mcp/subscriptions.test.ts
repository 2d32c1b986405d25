import { expect } from 'chai'
import {
  maxUrisPerClient,
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
  it('forgets everything of a removed subscriber', () => {
    const hub = new SubscriptionHub(5)
    const one = added(hub)
    void hub.subscribe(one, 'a://1')
    void hub.subscribe(one, 'a://2')
    hub.remove(one)
    hub.resourceUpdated('a://1')
    hub.listChanged()
    expect(one.told).to.deep.equal([])
    expect(hub.size).to.equal(0)
    expect(() => hub.subscribe(one, 'a://1'), 'it does not come back').to.throw('was removed')
    expect(hub.size).to.equal(0)
  })

  it('refuses more than a client may hold, and more than the server may hold', () => {
    const hub = new SubscriptionHub(maxUrisPerClient + 1)
    const one = added(hub)
    for (let n = 0; n < maxUrisPerClient; n++) void hub.subscribe(one, `a://${n}`)
    expect(() => hub.subscribe(one, 'a://more')).to.throw(`may subscribe to ${maxUrisPerClient}`)
    const other = added(hub)
    void hub.subscribe(other, 'a://1')
    expect(() => hub.subscribe(other, 'a://2')).to.throw('as many subscriptions as it may')
    hub.remove(one)
    void hub.subscribe(other, 'a://2')
    expect(hub.size).to.equal(2)
  })

  describe('of a URI whose updates arrive later', () => {
    it('tells every subscriber when they do, and asks for them once', async () => {
      const arrived = Promise.withResolvers<void>()
      const asked: string[] = []
      const hub = new SubscriptionHub(5, (uri, isFollowed) => {
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
      const hub = new SubscriptionHub(5, (_, isFollowed) =>
        isFollowed ? Promise.reject(new Error(`refused ${++asked}`)) : undefined,
      )
      const [one, other] = [added(hub), added(hub)]
      const opened = [hub.subscribe(one, 'a://1'), hub.subscribe(other, 'a://1')]
      const failures = await Promise.allSettled(opened)
      expect(failures.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
      expect(hub.size).to.equal(0)
      const again = await Promise.allSettled([hub.subscribe(added(hub), 'a://1')])
      expect(again[0]).to.have.nested.property('reason.message', 'refused 2')
    })
  })
})
