import { expect } from 'chai'
import { type Result, fail, ok } from '../../../../src/lib/util/result.ts'
import { Application, codeOf, linkedApplication, named } from './linked-application.ts'

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
    expect(await complete('C')).to.deep.equal({
      values: ['Cube', 'Cone'],
      total: 2,
      hasMore: false,
    })
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
      ['a wrong entry', 'new', [{ uri: 'new://a' }], 'invalid', /^\/resources\/0\/name /],
      ['too many entries', 'app', named('a', 'b', 'c', 'd'), 'limit', /maxLinkResources/],
      ['a wrong entry for a scheme it has', 'app', [{}], 'invalid', /^\/resources\/0\/uri /],
      ['one scheme too many', 'third', [], 'limit', /maxLinkSchemes/],
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

  it('are not registered with wrong templates', () => {
    const { producers } = linkedApplication()
    const told = producers.register('app', [], [{ uriTemplate: 'app://{a}' }])
    expect(!told.ok && told.failure.message).to.equal('/templates/0/name is required')
  })

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

  it('is asked for when it is not in the message; the old one stays until then', async () => {
    const { producers, app, heard, listed } = linkedApplication()
    producers.register('app', named('a'), null)
    expect(codeOf(producers.listChanged('app', undefined))).to.equal('ok')
    expect(app.lists.map(({ scheme }) => scheme)).to.deep.equal(['app'])
    expect(await listed()).to.deep.equal(['app://a'])
    expect(heard.lists).to.equal(1)
    await app.answerList(0, ok(named('b')))
    expect(await listed()).to.deep.equal(['app://b'])
    expect(heard.lists).to.equal(2)
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

  const failures: [what: string, answer: Result<unknown, string>][] = [
    ['there is no answer', fail('host_timeout')],
    ['the answer has no list', ok(undefined)],
    ['an entry is wrong', ok([{ uri: 'app://b' }])],
  ]
  for (const [what, answer] of failures) {
    it(`leaves the old one when ${what}, and can be asked for again`, async () => {
      const { producers, app, heard, listed, logged } = linkedApplication()
      producers.register('app', named('a'), null)
      producers.listChanged('app', null)
      await app.answerList(0, answer)
      expect(await listed()).to.deep.equal(['app://a'])
      expect(heard.lists).to.equal(1)
      expect(logged).to.have.length(1)
      producers.listChanged('app', null)
      await app.answerList(1, ok(named('b')))
      expect(await listed()).to.deep.equal(['app://b'])
    })
  }

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

  it('of a scheme that was removed meanwhile is dropped, and so is its failure', async () => {
    const { producers, app, listed, heard, logged } = linkedApplication()
    for (const [at, answer] of [ok(named('b')), ok('wrong'), fail('host_timeout')].entries()) {
      producers.register('app', named('a'), null)
      producers.listChanged('app', null)
      producers.listChanged('app', null)
      producers.unregister('app')
      await app.answerList(at, answer)
    }
    expect(await listed()).to.deep.equal([])
    expect(app.lists).to.have.length(3)
    expect(heard.lists).to.equal(6)
    expect(logged).to.have.length(0)
  })
})
