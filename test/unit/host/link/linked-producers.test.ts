import { expect } from 'chai'
import { type Result, fail, ok } from '../../../../src/lib/util/result.ts'
import type { AppQuestions } from '../../../../src/server/host/link/app-requests.ts'
import { LinkedProducers, type Told } from '../../../../src/server/host/link/linked-producers.ts'
import type { Content } from '../../../../src/server/resources/producer.ts'
import { ResourceRegistry } from '../../../../src/server/resources/registry.ts'
import { ManualTime } from '../../resources/manual-time.ts'
import { type Bounds, boundsWith } from '../../../helpers/bounds.ts'

/** An application that answers reads at once, and lists when told to. */
class Application implements AppQuestions {
  readonly lists: { scheme: string; answer: (result: Result<unknown, string>) => void }[] = []

  async read(uri: string): Promise<readonly Content[]> {
    return [{ uri, text: 'live' }]
  }

  list(scheme: string): Promise<Result<unknown, string>> {
    const { promise, resolve } = Promise.withResolvers<Result<unknown, string>>()
    this.lists.push({ scheme, answer: resolve })
    return promise
  }

  async answerList(at: number, result: Result<unknown, string>): Promise<void> {
    this.lists[at]?.answer(result)
    await new Promise(setImmediate)
  }
}

const graceMs = 60_000

/** The producers of one application in a registry, and what their listeners heard. */
function linkedApplication(limits: Partial<Bounds> = {}) {
  const time = new ManualTime()
  const all = boundsWith({ listChangedIntervalMs: 0, linkGraceMs: graceMs, ...limits })
  const registry = new ResourceRegistry({ limits: all, clock: time, timer: time })
  registry.addProducer({ scheme: 'docs', list: () => [], read: () => [] })
  const heard = { lists: 0, updates: [] as string[], schemes: [] as string[] }
  registry.listen({
    listChanged: () => heard.lists++,
    resourceUpdated: uri => heard.updates.push(uri),
    schemeUpdated: scheme => heard.schemes.push(scheme),
  })
  const logged: object[] = []
  const note = (fields: object) => void logged.push(fields)
  const log = { debug: note, info: note, warn: note, error: note }
  const producers = new LinkedProducers({ registry, timer: time, limits: all, log })
  const app = new Application()
  producers.connected(app)
  const listed = async () =>
    (await registry.page(undefined)).descriptors.map(({ uri }) => uri).slice(3)
  const reading = async (uri: string): Promise<unknown> => {
    try {
      return (await registry.read(uri))[0]
    } catch (error) {
      const { code, data } = error as { code: string; data?: { reason?: string } }
      return data?.reason ?? code
    }
  }
  return { producers, registry, app, time, heard, logged, listed, reading }
}

/** Descriptors of `app://<name>`. */
const named = (...names: string[]) => names.map(name => ({ uri: `app://${name}`, name }))
const codeOf = (told: Told) => (told.ok ? 'ok' : told.failure.code)
const live = { uri: 'app://a', mimeType: 'text/plain', text: 'live' }

describe('the schemes of an application', () => {
  it('answer with the MIME type of the list when the content names none', async () => {
    const { producers, reading } = linkedApplication()
    producers.register('app', [{ uri: 'app://a', name: 'a', mimeType: 'text/csv' }], null)
    expect(await reading('app://a')).to.include({ mimeType: 'text/csv' })
    expect(await reading('app://b')).to.include({ mimeType: 'text/plain' })
    producers.listChanged('app', [{ uri: 'app://a', name: 'a', mimeType: 'text/xml' }])
    expect(await reading('app://a')).to.include({ mimeType: 'text/xml' })
  })

  it('complete the variables of their templates from what they list', async () => {
    const { producers, registry } = linkedApplication()
    const templates = [{ uriTemplate: 'app://{name}', name: 'One' }]
    producers.register('app', named('Cube', 'Cone', 'Lamp'), templates)
    const complete = (prefix: string) => registry.complete('app://{name}', 'name', prefix)
    expect(await complete('C')).to.deep.equal({ values: ['Cube', 'Cone'] })
    producers.listChanged('app', named('Camera'))
    expect((await complete('C')).values).to.deep.equal(['Camera'])
    producers.disconnected()
    expect((await complete('')).values).to.deep.equal(['Camera'])
  })

  it('are listed, read and templated once registered, until unregistered', async () => {
    const { producers, registry, heard, listed, reading } = linkedApplication()
    const templates = [{ uriTemplate: 'app://{name}', name: 'One' }]
    expect(producers.register('app', named('a', 'b'), templates)).to.deep.equal(ok(null))
    expect(await listed()).to.deep.equal(['app://a', 'app://b'])
    expect(registry.templates().at(-1)).to.deep.equal(templates[0])
    expect(await reading('app://c')).to.deep.equal({
      uri: 'app://c',
      mimeType: 'text/plain',
      text: 'live',
    })
    expect(heard.lists).to.equal(1)
    expect(codeOf(producers.unregister('app'))).to.equal('ok')
    expect(await listed()).to.deep.equal([])
    expect(await reading('app://a')).to.equal('resource_not_found')
    expect(heard.lists).to.equal(2)
    expect(codeOf(producers.unregister('app'))).to.equal('not_found')
  })

  it('are registered again with other lists, announced only when they differ', async () => {
    const { producers, registry, heard, listed } = linkedApplication()
    producers.register('app', named('a'), null)
    const page = await registry.page(undefined)
    producers.register('app', named('a'), undefined)
    expect(heard.lists).to.equal(1)
    expect((await registry.page(undefined)).descriptors.at(-1)).to.equal(page.descriptors.at(-1))
    producers.register('app', named('b'), null)
    expect(heard.lists).to.equal(2)
    expect(await listed()).to.deep.equal(['app://b'])
    const templates = [{ uriTemplate: 'app://{name}', name: 'One' }]
    producers.register('app', named('b'), templates)
    expect(heard.lists).to.equal(3)
    expect(registry.templates().at(-1)).to.deep.equal(templates[0])
    producers.register('app', null, null)
    expect(await listed()).to.deep.equal([])
  })

  const refused: [what: string, scheme: unknown, resources: unknown, code: string, says: RegExp][] =
    [
      ['a scheme of the server', 'scene', [], 'scheme_reserved', /scene:/],
      ['a scheme of another producer', 'docs', [], 'scheme_taken', /docs:/],
      ['no scheme', undefined, [], 'invalid', /^\/scheme /],
      ['a wrong entry', 'new', [{ uri: 'new://a' }], 'invalid', /^\/resources\/0\/name: /],
      ['too many entries', 'app', named('a', 'b', 'c', 'd'), 'limit', /more than 3 entries/],
      ['one scheme too many', 'third', [], 'limit', /2 schemes already/],
    ]
  for (const [what, scheme, resources, code, says] of refused) {
    it(`are not registered with ${what}: ${code}; the old ones stay`, async () => {
      const { producers, heard, listed } = linkedApplication({
        maxLinkSchemes: 2,
        maxLinkResources: 3,
      })
      producers.register('app', named('a'), null)
      producers.register('second', [], null)
      const told = producers.register(scheme, resources, null)
      expect(codeOf(told)).to.equal(code)
      expect(!told.ok && told.failure.message).to.match(says)
      expect(await listed()).to.deep.equal(['app://a'])
      expect(heard.lists).to.equal(2)
    })
  }

  it('announce updates of their own URIs only', () => {
    const { producers, heard } = linkedApplication()
    producers.register('app', [], null)
    const cases: [uri: unknown, code: string][] = [
      ['app://a', 'ok'],
      ['APP://%61', 'ok'],
      ['docs://a', 'not_found'],
      ['scene://current', 'not_found'],
      ['no uri', 'invalid'],
      [undefined, 'invalid'],
    ]
    for (const [uri, code] of cases) {
      expect(codeOf(producers.updated(uri)), String(uri)).to.equal(code)
    }
    expect(heard.updates).to.deep.equal(['app://a', 'app://a'])
    producers.unregister('app')
    expect(codeOf(producers.updated('app://a'))).to.equal('not_found')
  })
})

describe('a changed list', () => {
  it('is taken from the message', async () => {
    const { producers, app, heard, listed } = linkedApplication()
    producers.register('app', named('a'), null)
    expect(codeOf(producers.listChanged('app', named('b')))).to.equal('ok')
    expect(await listed()).to.deep.equal(['app://b'])
    expect(heard.lists).to.equal(2)
    producers.listChanged('app', named('b'))
    expect(heard.lists).to.equal(2)
    expect(codeOf(producers.listChanged('app', [{}]))).to.equal('invalid')
    expect(await listed()).to.deep.equal(['app://b'])
    expect(codeOf(producers.listChanged('other', []))).to.equal('not_found')
    expect(app.lists).to.have.length(0)
  })

  it('is asked for once at a time, and once more when it changed meanwhile', async () => {
    const { producers, app, listed } = linkedApplication()
    producers.register('app', [], null)
    for (let times = 0; times < 5; times++) producers.listChanged('app', null)
    expect(app.lists).to.have.length(1)
    await app.answerList(0, ok(named('old')))
    expect(app.lists).to.have.length(2)
    await app.answerList(1, ok(named('new')))
    expect(app.lists).to.have.length(2)
    expect(await listed()).to.deep.equal(['app://new'])
    producers.listChanged('app', null)
    expect(app.lists).to.have.length(3)
  })

  it('leaves the old one without an answer or with a wrong one, and can be asked for again', async () => {
    const { producers, app, heard, listed, logged } = linkedApplication()
    producers.register('app', named('a'), null)
    const answers = [fail('host_timeout'), ok(undefined), ok([{ uri: 'app://b' }])]
    for (const [at, answer] of answers.entries()) {
      producers.listChanged('app', null)
      await app.answerList(at, answer)
      expect(await listed()).to.deep.equal(['app://a'])
      expect(heard.lists).to.equal(1)
      expect(logged).to.have.length(at + 1)
    }
    producers.listChanged('app', null)
    await app.answerList(3, ok(named('b')))
    expect(await listed()).to.deep.equal(['app://b'])
  })

  it('is not taken from an answer that comes after the end of its connection', async () => {
    const { producers, app, listed, logged } = linkedApplication()
    producers.register('app', named('a'), null)
    producers.listChanged('app', null)
    producers.disconnected()
    const next = new Application()
    producers.connected(next)
    producers.register('app', named('b'), null)
    producers.listChanged('app', null)
    await app.answerList(0, ok(named('old')))
    expect(await listed()).to.deep.equal(['app://b'])
    expect(logged).to.have.length(0)
    await next.answerList(0, ok(named('c')))
    expect(await listed()).to.deep.equal(['app://c'])
  })
})

describe('an application that is disconnected', () => {
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
    expect(await reading('app://a')).to.deep.equal(live)
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

  it('is forgotten at once when told so, with its timers, and can register nothing', async () => {
    const { producers, time, registry, listed, heard } = linkedApplication()
    producers.register('app', named('a'), null)
    producers.register('more', [], null)
    producers.disconnected()
    expect(codeOf(producers.register('app', [], null))).to.equal('internal')
    producers.forget()
    expect(await listed()).to.deep.equal([])
    expect(registry.schemeState('app')).to.equal('free')
    expect(time.waiting).to.equal(0)
    expect(heard.lists).to.equal(4)
  })
})
