import { expect } from 'chai'
import { Application, codeOf, graceMs, linkedApplication, named } from './linked-application.ts'

describe('an application that is disconnected', () => {
  it('stays listed for the grace, with reads that say so, and then goes', async () => {
    const { producers, time, heard, listed, reading } = linkedApplication()
    producers.register('app', named('a'), null)
    producers.disconnected()
    expect(await reading('app://a')).to.equal('host_disconnected')
    time.advance(graceMs - 1)
    expect(await listed()).to.deep.equal(['app://a'])
    expect(heard.lists).to.equal(1)
    time.advance(1)
    expect(await listed()).to.deep.equal([])
    expect(heard.lists).to.equal(2)
    expect(await reading('app://a')).to.equal('resource_not_found')
    expect(time.waiting).to.equal(0)
  })

  it('takes its schemes over when it is back, without a flicker of the list', async () => {
    const { producers, registry, time, heard, listed, reading } = linkedApplication()
    producers.register('app', named('a'), null)
    producers.register('gone', [{ uri: 'gone://a', name: 'a' }], null)
    const { descriptors } = await registry.page(undefined)
    producers.disconnected()
    time.advance(graceMs / 2)
    const next = new Application()
    producers.connected(next)
    expect(await reading('app://a')).to.equal('host_disconnected')
    expect(codeOf(producers.listChanged('app', []))).to.equal('not_found')
    expect(codeOf(producers.updated('app://a'))).to.equal('not_found')
    expect(codeOf(producers.register('app', named('a'), null))).to.equal('ok')
    expect(await reading('app://a')).to.deep.equal({
      uri: 'app://a',
      mimeType: 'text/plain',
      text: 'live',
    })
    expect((await registry.page(undefined)).descriptors).to.deep.equal(descriptors)
    expect(heard.lists).to.equal(2)
    time.advance(graceMs / 2)
    expect(await listed()).to.deep.equal(['app://a'])
    expect(heard.lists).to.equal(3)
    expect(time.waiting).to.equal(0)
  })

  it('is announced to the subscribers of its resources, and so is its return', () => {
    const { producers, time, heard } = linkedApplication()
    producers.register('app', named('a'), null)
    heard.schemes.length = 0
    producers.register('app', named('a', 'b'), null)
    expect(heard.schemes).to.deep.equal([])
    producers.disconnected()
    expect(heard.schemes).to.deep.equal(['app'])
    producers.connected(new Application())
    producers.register('app', named('a'), null)
    expect(heard.schemes).to.deep.equal(['app', 'app'])
    producers.disconnected()
    time.advance(graceMs)
    expect(heard.schemes).to.deep.equal(['app', 'app', 'app', 'app'])
  })

  it('does not earn a new grace for what it did not register again', async () => {
    const { producers, time, listed } = linkedApplication()
    producers.register('app', named('a'), null)
    producers.disconnected()
    time.advance(graceMs / 2)
    const next = new Application()
    producers.connected(next)
    producers.disconnected()
    time.advance(graceMs / 2)
    expect(await listed()).to.deep.equal([])
  })

  it('may be connected anew before the loss of the old connection is noticed', async () => {
    const { producers, time, reading } = linkedApplication()
    producers.register('app', named('a'), null)
    producers.connected(new Application())
    expect(await reading('app://a')).to.equal('host_disconnected')
    producers.register('app', named('a'), null)
    expect(await reading('app://a')).to.deep.equal({
      uri: 'app://a',
      mimeType: 'text/plain',
      text: 'live',
    })
    expect(time.waiting).to.equal(0)
  })

  it('makes room, the oldest first, for other schemes when it is back', async () => {
    const { producers, listed } = linkedApplication({ maxLinkSchemes: 2 })
    for (const scheme of ['one', 'two']) {
      producers.register(scheme, [{ uri: `${scheme}://a`, name: 'a' }], null)
    }
    producers.disconnected()
    producers.connected(new Application())
    producers.register('three', [{ uri: 'three://a', name: 'a' }], null)
    expect(await listed()).to.deep.equal(['two://a', 'three://a'])
    producers.register('two', [{ uri: 'two://a', name: 'a' }], null)
    expect(codeOf(producers.register('four', [], null))).to.equal('limit')
  })

  it('can register nothing', () => {
    const { producers } = linkedApplication()
    producers.disconnected()
    expect(codeOf(producers.register('app', [], null))).to.equal('internal')
  })

  it('is forgotten at once when told so, with its timers', async () => {
    const { producers, time, registry, listed, heard } = linkedApplication()
    producers.register('app', named('a'), null)
    producers.register('more', [], null)
    producers.disconnected()
    producers.forget()
    expect(await listed()).to.deep.equal([])
    expect(registry.schemeState('app')).to.equal('free')
    expect(time.waiting).to.equal(0)
    expect(heard.lists).to.equal(4)
  })
})
