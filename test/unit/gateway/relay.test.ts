import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { InstancePushes } from '../../../src/server/gateway/relay/instance-pushes.ts'
import {
  canonicalOuter,
  outerUri,
  parseInstanceUri,
} from '../../../src/server/gateway/relay/instance-uri.ts'
import { OpenRequests } from '../../../src/server/gateway/relay/open-requests.ts'
import { unreachable } from '../../../src/server/gateway/relay/relay-errors.ts'
import { Upstream } from '../../../src/server/gateway/relay/upstream.ts'
import { defaultBounds } from '../../helpers/bounds.ts'

describe('the URI of a resource of an instance', () => {
  const id = '3f2a91c0-0000-4000-8000-000000000001'

  it('is taken apart into the instance and the URI that the instance knows', () => {
    const cases: readonly [outer: string, selector: string, inner: string][] = [
      [`instance://${id}/scene/current?view=summary`, id, 'scene://current?view=summary'],
      ['INSTANCE://3F2A/App/Lights/Key', '3F2A', 'app://Lights/Key'],
      ['instance://3f2a/app//a?uri=instance://b/c/d', '3f2a', 'app:///a?uri=instance://b/c/d'],
      ['instance://3f2a/app/%2F..%2f', '3f2a', 'app://%2F..%2f'],
    ]
    for (const [outer, selector, inner] of cases) {
      expect(parseInstanceUri(outer), outer).to.include({ selector, inner })
    }
  })

  it('has no other form', () => {
    const others = [
      'instance://3f2a',
      'instance://3f2a/scene',
      'instance:///scene/current',
      'instance://3f2a/1scene/x',
      'scene://current',
      'instance://3f2a/scene/current#top',
      ' instance://3f2a/scene/current',
    ]
    for (const other of others) expect(parseInstanceUri(other), other).to.equal(null)
  })

  it('is made of the URI that the instance knows, and leads back to it', () => {
    for (const inner of ['scene://current', 'app://a/b?c=%20&d', 'x-y.z+1://', 'app:////']) {
      const outer = outerUri(id, inner)
      expect(parseInstanceUri(outer ?? ''), inner).to.deep.include({ selector: id, inner })
    }
    for (const none of ['', 'scene:current', '://x', 'urn:a:b', 'scene://a#b']) {
      expect(outerUri(id, none), none).to.equal(null)
    }
  })

  it('has one spelling for updates, whatever the client wrote', () => {
    for (const rest of ['scene/current', 'SCENE/current']) {
      const parsed = parseInstanceUri(`instance://3f2a/${rest}`)
      expect(parsed && canonicalOuter(id, parsed)).to.equal(`instance://${id}/scene/current`)
    }
  })
})

describe('subscriptions at an instance', () => {
  it('are tried again at once when it came back while an attempt failed', async () => {
    const again = Promise.withResolvers<void>()
    let attempts = 0
    const way = () => {
      if (++attempts === 2) again.resolve()
      throw unreachable('its link is lost')
    }
    const url = new URL('http://instance/mcp')
    const transport = { url, asker: way, reads: way, refused() {}, close() {} }
    let looks = 0
    const pushes = new InstancePushes({
      upstream: new Upstream('an instance', transport),
      updated() {},
      listChanged() {},
      log: silentLogger,
      limits: defaultBounds,
      gone: async () => {
        // The look finds that its link is open again.
        if (++looks === 1) pushes.retry()
        return null
      },
      // No pause ends by itself.
      timer: { after: () => () => {} },
    })
    await pushes.follow('scene://current')
    await again.promise
    expect(attempts).to.equal(2)
    await pushes.close()
  })
})

describe('the requests of a user that are open at an instance', () => {
  it('are 100 at most, and one more when one has ended', async () => {
    const open = new OpenRequests()
    const hanging = Array.from({ length: 100 }, () => Promise.withResolvers<string>())
    const answers = hanging.map(({ promise }) => open.run('a', undefined, () => promise))
    const codeOf = (error: { code: string }) => error.code
    const next = () => open.run('a', undefined, async () => 'answered').catch(codeOf)
    expect(await next()).to.equal('overloaded')
    expect(await open.run('b', undefined, async () => 'answered')).to.equal('answered')
    hanging[0]?.resolve('late')
    expect(await answers[0]).to.equal('late')
    expect(await next()).to.equal('answered')
  })

  it('are 32 at most with a large answer, until its last byte', async () => {
    const open = new OpenRequests()
    async function* bytes() {
      yield new Uint8Array(1)
    }
    const read = () => open.run('a', undefined, async () => ({ open: () => bytes(), discard() {} }))
    const isRefused = () =>
      read().then(
        () => false,
        () => true,
      )
    const streams = await Promise.all(Array.from({ length: 32 }, read))
    expect(await isRefused()).to.equal(true)
    expect(await open.run('a', undefined, async () => 'small')).to.equal('small')
    for await (const _ of streams[0]?.open() ?? []) expect(await isRefused()).to.equal(true)
    expect(await isRefused()).to.equal(false)
    streams[1]?.discard()
    expect(await isRefused()).to.equal(false)
  })
})
