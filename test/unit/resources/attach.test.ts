import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../../src/server/resources/errors.ts'
import type { Content } from '../../../src/server/resources/producer.ts'
import { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import type { SchemeProducer } from '../../../src/server/resources/scheme-producer.ts'
import { serverDefaults } from '../../../src/server/http/limits.ts'
import { failureOf } from '../../helpers/failure.ts'
import { ManualTime } from './manual-time.ts'

const listing = (uri: string): SchemeProducer => {
  const list = Object.freeze([Object.freeze({ uri, name: uri })])
  return { list: () => list, read: () => [] }
}

function started() {
  const time = new ManualTime()
  const logged: object[] = []
  const note = (fields: object) => void logged.push(fields)
  const resources = new ResourceRegistry({
    limits: serverDefaults,
    clock: time,
    timer: time,
    log: { debug: note, info: note, warn: note, error: note },
  })
  const docs = Object.freeze([Object.freeze({ uri: 'docs://a', name: 'a' })])
  resources.addProducer({ scheme: 'docs', list: () => docs, read: () => [] })
  const settle = () => time.advance(1000)
  settle()
  const heard = { lists: 0, schemes: [] as string[] }
  resources.listen({
    listChanged: () => heard.lists++,
    schemeUpdated: scheme => heard.schemes.push(scheme),
  })
  const uris = async () =>
    (await resources.page(undefined)).descriptors.map(({ uri }) => uri).slice(3)
  return { resources, time, heard, settle, uris, logged }
}

describe('an attached scheme', () => {
  it('is served behind the custom producers until it is detached', async () => {
    const { resources, heard, settle, uris } = started()
    resources.attach('app', listing('app://x'))
    settle()
    expect(await uris()).to.deep.equal(['docs://a', 'app://x'])
    expect(resources.read('app://x')).to.deep.equal([])
    resources.detach('app')
    settle()
    expect(await uris()).to.deep.equal(['docs://a'])
    expect(heard).to.deep.equal({ lists: 2, schemes: ['app', 'app'] })
    const gone = await failureOf(async () => resources.read('app://x'))
    expect(gone.message).to.match(/^no resource at app:\/\/x; list the resources/)
    expect(() => resources.assertSubscribable('app://x')).to.throw(ServiceError, /no resource/)
    expect(() => resources.notifyUpdated('app://x')).to.throw(ServiceError, /no producer/)
  })

  it('gives the identical page while its list is the same, and its templates', async () => {
    const { resources } = started()
    const before = resources.templates()
    let list = listing('app://x').list
    let templates = [{ uriTemplate: 'app://{name}', name: 'One' }]
    resources.attach('app', {
      list: () => list?.() ?? [],
      templates: () => templates,
      read: () => [],
    })
    const page = await resources.page(undefined)
    expect(await resources.page(undefined)).to.equal(page)
    list = listing('app://x').list
    expect(await resources.page(undefined)).not.to.equal(page)
    expect(resources.templates()).to.deep.equal([...before, ...templates])
    expect((await resources.complete('app://{name}', 'name', '')).values).to.deep.equal(['x'])
    templates = []
    expect(resources.templates()).to.deep.equal(before)
  })

  for (const [scheme, isFree] of [
    ['app', true],
    ['docs', false],
    ['mine', false],
    ['scene', false],
    ['gateway', false],
  ] as const) {
    it(`may be called ${scheme} if that is free: ${isFree}`, () => {
      const { resources } = started()
      resources.attach('mine', listing('mine://a'))
      expect(resources.isFree(scheme)).to.equal(isFree)
      const attach = () => resources.attach(scheme, listing(`${scheme}://a`))
      if (isFree) attach()
      else expect(attach).to.throw(ServiceError, /taken/).with.property('code', 'usage_invalid')
      expect(() => resources.attach('No', listing('no://a'))).to.throw(TypeError)
    })
  }

  it('keeps its own errors, thrown or rejected, and no other', async () => {
    const { resources, logged } = started()
    let answer: () => readonly Content[] | Promise<readonly Content[]> = () => []
    resources.attach('app', { read: () => answer() })
    const read = async () => resources.read('app://x')
    for (const raise of [
      (error: Error) => () => {
        throw error
      },
      (error: Error) => () => Promise.reject(error),
    ]) {
      logged.splice(0)
      const busy = new ServiceError('resource_failed', 'busy', { data: { reason: 'host_busy' } })
      for (const error of [busy, new ResourceUriInvalid('no such frame')]) {
        answer = raise(error)
        expect(await failureOf(read)).to.equal(error)
      }
      answer = raise(new ResourceNotFound('app://x'))
      expect((await failureOf(read)).data).to.deep.equal({ uri: 'app://x' })
      expect(logged).to.have.length(0)
      answer = raise(new Error('/home/artist/secret.ma'))
      expect((await failureOf(read)).data).to.deep.equal({ reason: 'producer_failed' })
      expect(logged).to.have.length(1)
    }
  })
})
