import { expect } from 'chai'
import {
  canonicalOuter,
  outerUri,
  parseInstanceUri,
} from '../../../../src/server/gateway/relay/instance-uri.ts'

const id = '3f2a91c0-0000-4000-8000-000000000001'

describe('the URI of a resource of an instance', () => {
  it('is taken apart into the instance and the URI that the instance knows', () => {
    const cases: readonly [outer: string, selector: string, inner: string][] = [
      ['instance://3f2a/scene/current', '3f2a', 'scene://current'],
      [`instance://${id}/scene/current?view=summary`, id, 'scene://current?view=summary'],
      [`instance://${id}/artefact/sha256/ab`, id, 'artefact://sha256/ab'],
      ['INSTANCE://3F2A/App/Lights/Key', '3F2A', 'app://Lights/Key'],
      ['instance://3f2a/app/', '3f2a', 'app://'],
      ['instance://3f2a/app//a?uri=instance://b/c/d', '3f2a', 'app:///a?uri=instance://b/c/d'],
      ['instance://3f2a/app/%2F..%2f', '3f2a', 'app://%2F..%2f'],
    ]
    for (const [outer, selector, inner] of cases) {
      expect(parseInstanceUri(outer), outer).to.include({ selector, inner })
    }
  })

  it('has no other form', () => {
    const others = [
      '',
      'instance://',
      'instance://3f2a',
      'instance://3f2a/',
      'instance://3f2a/scene',
      'instance:///scene/current',
      'instance://3f2a/1scene/x',
      'scene://current',
      'instance://3f2a/scene/current#top',
      'instance://3f2a?x/scene/current',
      'instance://3f2a/sc ene/x',
      ' instance://3f2a/scene/current',
    ]
    for (const other of others) expect(parseInstanceUri(other), other).to.equal(null)
  })

  it('is made of the URI that the instance knows, and leads back to it', () => {
    for (const inner of ['scene://current', 'app://a/b?c=%20&d', 'x-y.z+1://', 'app:////']) {
      const outer = outerUri(id, inner)
      expect(parseInstanceUri(outer ?? ''), inner).to.deep.include({ selector: id, inner })
    }
    for (const none of ['', 'scene', 'scene:current', '://x', 'urn:a:b', 'scene://a#b']) {
      expect(outerUri(id, none), none).to.equal(null)
    }
  })

  it('has one spelling for updates, whatever the client wrote', () => {
    const spellings = ['scene/current', 'SCENE/current', 'Scene/current']
    const canonical = spellings.map(rest => {
      const parsed = parseInstanceUri(`instance://3f2a/${rest}`)
      return parsed && canonicalOuter(id, parsed)
    })
    expect(new Set(canonical)).to.deep.equal(new Set([`instance://${id}/scene/current`]))
  })
})
