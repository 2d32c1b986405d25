import { expect } from 'chai'
import fc from 'fast-check'
import { templateValues } from '../../../src/server/resources/completion.ts'
import type { ResourceProducer } from '../../../src/server/resources/producer.ts'
import type { SchemeProducer } from '../../../src/server/resources/scheme-producer.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { registry } from './support.ts'

const artefacts: SchemeProducer = {
  read: () => [],
  templates: () => [{ uriTemplate: 'artefact://sha256/{hex}', name: 'Artefact' }],
  complete: (_, prefix) => ['abc', 'abd'].filter(hex => hex.startsWith(prefix)),
}
const docs: ResourceProducer = {
  scheme: 'docs',
  list: () => [],
  read: () => [],
  templates: () => [{ uriTemplate: 'docs://{page}', name: 'Page' }],
  complete: async (variable, prefix) => [`${variable}-${prefix}`],
}

describe('completion', () => {
  const resources = registry({}, artefacts)
  for (let n = 0; n < 150; n++) {
    resources.registerSessionEventBuffer(new SessionEventBuffer({ sessionId: `s${n}` }))
  }
  for (let n = 0; n < 12; n++) resources.setScene({})
  resources.addProducer(docs)
  const events = 'events://session/{session_id}{?cursor,limit,drain}'

  const cases: [template: string, variable: string, prefix: string, values: string[]][] = [
    ['audit://recent{?limit}', 'limit', '', ['50', '10', '100', '500']],
    [
      events,
      'session_id',
      's14',
      ['s14', 's140', 's141', 's142', 's143', 's144', 's145', 's146', 's147', 's148', 's149'],
    ],
    [events, 'limit', '1', ['100', '10', '1000']],
    [events, 'cursor', '', ['0']],
    ['docs://{page}', 'page', 'x', ['page-x']],
  ]
  for (const [template, variable, prefix, values] of cases) {
    it(`completes "${prefix}" for ${variable} in ${template}`, async () => {
      expect(await resources.complete(template, variable, prefix)).to.deep.equal({
        values,
        total: values.length,
        hasMore: false,
      })
    })
  }

  it('offers the first and the newest cursor of the chosen session', async () => {
    const buffer = new SessionEventBuffer({ sessionId: 'chosen' })
    resources.registerSessionEventBuffer(buffer)
    for (let n = 0; n < 12; n++) buffer.append({ source: 'a', stream: 'b', message: 'c' })
    const cursors = async (session_id: string) => {
      const resolved = new Map([['session_id', session_id]])
      return (await resources.complete(events, 'cursor', '', resolved)).values
    }
    expect(await cursors('chosen')).to.deep.equal(['0', '12'])
    expect(await cursors('none')).to.deep.equal(['0'])
    // Something happened there last.
    expect((await resources.complete(events, 'session_id', '')).values[0]).to.equal('chosen')
    resources.removeSessionEventBuffer(buffer)
  })
})

type Case = [template: string, variable: string, uris: string[], values: string[]]

describe('templateValues', () => {
  const cases: Case[] = [
    ['app://{name}', 'name', ['app://Cube', 'app://Lamp'], ['Cube', 'Lamp']],
    [
      'app://{name}',
      'name',
      ['app://A%20B', "app://it's", 'app://%E9', 'app://%'],
      ['A B', "it's"],
    ],
    ['app://{name}', 'name', ['app://a/b', 'app://', 'app://a?b', 'app://a#b'], []],
    ['app://{kind}/{name}', 'kind', ['app://mesh/Cube', 'app://mesh/Cone', 'app://x'], ['mesh']],
    ['app://{kind}/{name}', 'name', ['app://mesh/Cube', 'app://light/Sun'], ['Cube', 'Sun']],
    [
      'app://{name}.json',
      'name',
      ['app://a.json', 'app://a.json.json', 'app://b'],
      ['a', 'a.json'],
    ],
    ['app://{name}/v{number}/x', 'number', ['app://a/v1/x', 'app://a/v1/y'], ['1']],
    ['app://{a}/{a}', 'a', ['app://x/x', 'app://x/y'], ['x']],
    ['app://{name}{?frame}', 'frame', ['app://Cube', 'app://Cube?frame=1'], []],
    // What has no one way back.
    ['app://{a}{b}', 'a', ['app://xy'], []],
    ['app://{+path}', 'path', ['app://a/b'], []],
    ['app://{}', '', ['app://a'], []],
  ]
  for (const [uriTemplate, variable, uris, values] of cases) {
    it(`${variable} of ${uriTemplate} in ${uris.join(' ')}: ${values.join(' ') || 'none'}`, () => {
      const context = { uriTemplate, resolved: new Map<string, string>() }
      expect(templateValues(context, variable, uris)).to.deep.equal(values)
    })
  }

  it('leaves out what does not go with the values chosen for the other variables', () => {
    const uriTemplate = 'app://{kind}/{name}'
    const uris = ['app://mesh/Cube', 'app://light/Sun', 'app://mesh/Cone']
    const resolved = new Map([
      ['kind', 'mesh'],
      ['name', 'Sun'],
      ['unknown', 'x'],
    ])
    expect(templateValues({ uriTemplate, resolved }, 'name', uris)).to.deep.equal(['Cube', 'Cone'])
  })

  it('finds every value that was put into a template', () => {
    const value = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(value, value, (kind, name) => {
        const uri = `app://${encodeURIComponent(kind)}/x/${encodeURIComponent(name)}/y`
        const context = { uriTemplate: 'app://{kind}/x/{name}/y', resolved: new Map() }
        expect(templateValues(context, 'kind', [uri])).to.deep.equal([kind])
        expect(templateValues(context, 'name', [uri])).to.deep.equal([name])
      }),
    )
  })

  it('goes through a hostile template once', () => {
    const uriTemplate = `app://${'{a}/'.repeat(500)}{a}`
    const uris = Array.from({ length: 200 }, () => `app://${'x/'.repeat(1000)}`)
    const context = { uriTemplate, resolved: new Map<string, string>() }
    expect(templateValues(context, 'a', uris)).to.deep.equal([])
  })
})
