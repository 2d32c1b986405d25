import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../../src/server/resources/errors.ts'
import type { Content, Descriptor, Template } from '../../../src/server/resources/producer.ts'
import { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import type { SchemeSource } from '../../../src/server/resources/schemes.ts'
import { ManualTime } from './manual-time.ts'
import { defaultBounds } from '../../helpers/bounds.ts'

class Source implements SchemeSource {
  readonly scheme: string
  resources: readonly Descriptor[]
  offered: readonly Template[] = Object.freeze([])
  answer: () => readonly Content[] | Promise<readonly Content[]> = () => []

  constructor(scheme: string, ...names: string[]) {
    this.scheme = scheme
    this.resources = Object.freeze(
      names.map(name => Object.freeze({ uri: `${scheme}://${name}`, name })),
    )
  }

  list() {
    return this.resources
  }

  templates() {
    return this.offered
  }

  read(_uri: string) {
    return this.answer()
  }
}

function started() {
  const time = new ManualTime()
  const logged: object[] = []
  const note = (fields: object) => void logged.push(fields)
  const resources = new ResourceRegistry({
    limits: defaultBounds,
    clock: time,
    timer: time,
    log: { debug: note, info: note, warn: note, error: note },
    enableArtefactResources: false,
  })
  const { resources: docs } = new Source('docs', 'a')
  resources.addProducer({ scheme: 'docs', list: () => docs, read: () => [] })
  resources.freeze()
  time.advance(defaultBounds.listChangedIntervalMs)
  const heard = { lists: 0, updates: [] as string[] }
  resources.listen({
    listChanged: () => heard.lists++,
    resourceUpdated: uri => heard.updates.push(uri),
  })
  const settle = () => time.advance(defaultBounds.listChangedIntervalMs)
  const uris = async () =>
    (await resources.page(undefined)).descriptors.map(({ uri }) => uri).slice(3)
  return { resources, time, heard, settle, uris, logged }
}

async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

describe('an attached source', () => {
  it('is served after the start, behind the custom producers, until it is detached', async () => {
    const { resources, heard, settle, uris } = started()
    const source = new Source('app', 'x', 'y')
    const attachment = resources.attach(source)
    settle()
    expect(await uris()).to.deep.equal(['docs://a', 'app://x', 'app://y'])
    expect(heard.lists).to.equal(1)
    source.answer = () => [{ uri: 'app://x', text: 'hello' }]
    expect(resources.read('app://x')).to.deep.equal([{ uri: 'app://x', text: 'hello' }])

    attachment.detach()
    settle()
    expect(await uris()).to.deep.equal(['docs://a'])
    expect(heard.lists).to.equal(2)
    const gone = await errorOf(() => resources.read('app://x'))
    expect(gone).to.be.instanceOf(ResourceNotFound)
    expect(await errorOf(() => resources.assertSubscribable('app://x'))).to.be.instanceOf(
      ResourceNotFound,
    )
  })

  it('announces another list, and only while it is attached', async () => {
    const { resources, heard, settle, uris } = started()
    const source = new Source('app', 'x')
    const attachment = resources.attach(source)
    settle()
    source.resources = new Source('app', 'z').resources
    attachment.listChanged()
    settle()
    expect(await uris()).to.deep.equal(['docs://a', 'app://z'])
    expect(heard.lists).to.equal(2)
    attachment.detach()
    settle()
    attachment.detach()
    attachment.listChanged()
    settle()
    expect(heard.lists).to.equal(3)
  })

  it('gives the identical page while its list is the same', async () => {
    const { resources } = started()
    const source = new Source('app', 'x')
    resources.attach(source)
    const page = await resources.page(undefined)
    expect(await resources.page(undefined)).to.equal(page)
    source.resources = new Source('app', 'x').resources
    expect(await resources.page(undefined)).not.to.equal(page)
  })

  it('has templates, in a new array after each change', async () => {
    const { resources } = started()
    const before = resources.templates()
    const source = new Source('app')
    source.offered = Object.freeze([{ uriTemplate: 'app://{name}', name: 'One' }])
    const attachment = resources.attach(source)
    const attached = resources.templates()
    expect(attached).not.to.equal(before)
    expect(attached.at(-1)).to.deep.equal({ uriTemplate: 'app://{name}', name: 'One' })
    expect(resources.templates()).to.equal(attached)
    expect((await resources.complete('app://{name}', 'name', '')).values).to.deep.equal([])
    source.offered = Object.freeze([])
    attachment.listChanged()
    expect(resources.templates()).to.deep.equal(before)
    source.offered = Object.freeze([{ uriTemplate: 'app://{other}', name: 'One' }])
    attachment.listChanged()
    expect(resources.templates()).to.have.length(before.length + 1)
    attachment.detach()
    expect(resources.templates()).to.deep.equal(before)
  })

  it('may announce updates, which are refused once it is gone', () => {
    const { resources, heard } = started()
    const attachment = resources.attach(new Source('app'))
    expect(resources.assertSubscribable('APP://x')).to.equal('app://x')
    expect(resources.pushes('app://x')).to.equal(true)
    resources.notifyUpdated('app://x')
    attachment.detach()
    expect(() => resources.notifyUpdated('app://x')).to.throw(ServiceError, /no producer/)
    expect(heard.updates).to.deep.equal(['app://x'])
  })

  const states: [scheme: string, state: string][] = [
    ['app', 'free'],
    ['docs', 'taken'],
    ['mine', 'taken'],
    ['scene', 'reserved'],
    ['gateway', 'reserved'],
    ['ui', 'reserved'],
  ]
  for (const [scheme, state] of states) {
    it(`${state === 'free' ? 'takes' : 'is refused'} the scheme ${scheme}: ${state}`, () => {
      const { resources } = started()
      resources.attach(new Source('mine'))
      expect(resources.schemeState(scheme)).to.equal(state)
      const attach = () => resources.attach(new Source(scheme))
      if (state === 'free') attach()
      else expect(attach).to.throw(ServiceError, /taken/).with.property('code', 'usage_invalid')
    })
  }

  it('is refused with a scheme out of its form, and free again after the detach', () => {
    const { resources } = started()
    expect(() => resources.attach(new Source('No'))).to.throw(TypeError)
    resources.attach(new Source('app')).detach()
    expect(resources.schemeState('app')).to.equal('free')
    resources.attach(new Source('app'))
  })

  for (const [when, raise] of [
    [
      'throws',
      (error: unknown) => () => {
        throw error
      },
    ],
    ['rejects', (error: unknown) => () => Promise.reject(error)],
  ] as const) {
    it(`keeps its own errors when it ${when}, and no other`, async () => {
      const { resources, logged } = started()
      const source = new Source('app')
      resources.attach(source)
      const own = [
        new ServiceError('resource_failed', 'busy', { data: { reason: 'host_busy' } }),
        new ResourceNotFound('app://x'),
        new ResourceUriInvalid('no such frame'),
      ]
      for (const error of own) {
        source.answer = raise(error)
        expect(await errorOf(() => resources.read('app://x'))).to.equal(error)
      }
      expect(logged).to.have.length(0)
      source.answer = raise(new Error('/home/artist/secret.ma'))
      const hidden = (await errorOf(() => resources.read('app://x'))) as ServiceError
      expect(hidden.data).to.deep.equal({ reason: 'producer_failed' })
      expect(logged).to.have.length(1)
    })
  }

  it('leaves no timer behind when it goes after the registry was closed', () => {
    const { resources, time, settle } = started()
    const attachment = resources.attach(new Source('app'))
    settle()
    resources.close()
    attachment.listChanged()
    attachment.detach()
    expect(time.waiting).to.equal(0)
  })
})
