import { expect } from 'chai'
import { ResourceUriInvalid } from '../../../src/server/resources/errors.ts'
import type { PagedProducer, ResourceProducer } from '../../../src/server/resources/producer.ts'
import type { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { registry } from './support.ts'

const artefacts: PagedProducer = {
  scheme: 'artefact',
  list: () => [],
  read: () => [],
  page: () => ({ descriptors: [] }),
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

describe('resource templates', () => {
  it('are those of the enabled resources', () => {
    const own = [
      'scene://current{?view,pointer,type,name,ids,where,fields,offset,limit}',
      'scene://delta{?since,until}',
      'audit://recent{?limit}',
      'events://session/{session_id}{?cursor,limit,drain}',
    ]
    const uris = (resources: ResourceRegistry) =>
      resources.templates().map(({ uriTemplate }) => uriTemplate)
    expect(uris(registry())).to.deep.equal(own)
    const more = registry({}, artefacts)
    more.addProducer(docs)
    expect(uris(more)).to.deep.equal([...own, 'docs://{page}', 'artefact://sha256/{hex}'])
    expect(more.templates()).to.equal(more.templates())
    expect(Object.isFrozen(more.templates())).to.equal(true)
  })
})

describe('completion', () => {
  const resources = registry({}, artefacts)
  for (let n = 0; n < 150; n++) {
    resources.registerSessionEventBuffer(new SessionEventBuffer({ sessionId: `s${n}` }))
  }
  for (let n = 0; n < 12; n++) resources.setScene({})
  resources.addProducer(docs)
  const events = 'events://session/{session_id}{?cursor,limit,drain}'

  const cases: [template: string, variable: string, prefix: string, values: string[]][] = [
    ['scene://delta{?since,until}', 'since', '1', ['12', '11', '10', '1']],
    ['audit://recent{?limit}', 'limit', '', ['50', '10', '100', '500']],
    ['audit://recent{?limit}', 'limit', '7', []],
    [
      events,
      'session_id',
      's14',
      ['s14', 's140', 's141', 's142', 's143', 's144', 's145', 's146', 's147', 's148', 's149'],
    ],
    [events, 'session_id', '49', []],
    [events, 'drain', 't', ['true']],
    [events, 'limit', '1', ['100', '10', '1000']],
    [events, 'cursor', '', ['0']],
    ['artefact://sha256/{hex}', 'hex', 'abd', ['abd']],
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

  it('returns at most 100 values and the total', async () => {
    const completed = await resources.complete(events, 'session_id', '')
    expect(completed).to.include({ total: 150, hasMore: true })
    expect(completed.values).to.have.length(100)
  })

  for (const [template, variable] of [
    ['none://{a}', 'a'],
    ['audit://recent{?limit}', 'other'],
  ] as const) {
    it(`refuses ${variable} of ${template}`, async () => {
      const error = await resources
        .complete(template, variable, '')
        .catch((error: unknown) => error)
      expect(error).to.be.instanceOf(ResourceUriInvalid)
    })
  }
})
