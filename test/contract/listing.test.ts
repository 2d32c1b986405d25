import { expect } from 'chai'
import { artefactPutBytes, SessionEventBuffer } from '../../src/index.ts'
import {
  builtIn,
  completed,
  failure,
  listChanges,
  listedUris,
  listen,
  many,
  scene,
  templatesOf,
  useArtefacts,
  useServer,
} from './support.ts'

const eventsTemplate = 'events://session/{session_id}{?cursor,limit,drain}'

describe('resources/list', () => {
  const section = useServer({}, server =>
    server.resources().addProducer(many('item', 1200 - builtIn.length)),
  )

  it('gives 1,200 entries on three pages of 500 by opaque cursor, each exactly once', async () => {
    const sizes: number[] = []
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const { result } = await section.session.call('resources/list', { cursor })
      sizes.push(result.resources.length)
      seen.push(...result.resources.map((each: any) => each.uri))
      cursor = result.nextCursor
    } while (cursor !== undefined && sizes.length < 10)
    expect(sizes).to.deep.equal([500, 500, 200])
    expect(new Set(seen).size).to.equal(1200)
  })

  it('is not changed by a scene', async () => {
    const events = await listen(section.session, scene)
    section.server.resources().setScene({})
    await events.until(() => events.updates.length > 0)
    await section.session.call('ping')
    expect(listChanges(events)).to.equal(0)
  })
})

describe('resources/list with artefacts', () => {
  const limits = { pageSize: 2 }
  const section = useArtefacts(limits, server => {
    server.resources().addProducer(many('zeta', 1))
    server.resources().addProducer(many('alpha', 1))
  })

  const { root } = section

  it('has built-in resources, producers as they were added, and artefacts newest first', async () => {
    const stored: string[] = []
    for (const text of ['first', 'second', 'third']) {
      const { uri, created_at } = await artefactPutBytes(Buffer.from(text), { root })
      stored.unshift(uri)
      // Times are kept in milliseconds: the next one must be newer.
      while (Date.now() <= Date.parse(created_at)) await new Promise(setImmediate)
    }
    const buffer = new SessionEventBuffer({ sessionId: 's' })
    section.server.resources().registerSessionEventBuffer(buffer)
    const others = ['events://session/s', 'zeta://0', 'alpha://0']
    expect(await listedUris(section.session)).to.deep.equal([...builtIn, ...others, ...stored])
  })

  it('announces artefacts of another writer', async () => {
    const events = await listen(section.session)
    await artefactPutBytes(Buffer.from('n'), { root })
    await events.until(() => listChanges(events) > 0)
  })

  it('has the templates of all of them', async () => {
    expect(await templatesOf(section.session)).to.have.members([
      'scene://current{?view,pointer,type,name,ids,where,fields,offset,limit}',
      'scene://delta{?since,run}',
      'audit://recent{?limit}',
      eventsTemplate,
      'zeta://{number}',
      'alpha://{number}',
      'artefact://sha256/{hex}',
      'artefact://sha256/{hex}{?as,offset,limit,max_width}',
    ])
  })
})

describe('completion/complete', () => {
  const section = useArtefacts({}, server => {
    server.resources().addProducer(many('item', 150))
    server
      .resources()
      .addProducer({
        scheme: 'shot',
        list: () => ['a/10', 'a/20', 'b/30'].map(name => ({ uri: `shot://${name}`, name })),
        read: () => [],
        templates: () => [{ uriTemplate: 'shot://{sequence}/{shot}', name: 'Shot' }],
      })
  })
  before(() => {
    const buffer = new SessionEventBuffer({ sessionId: 'render 12' })
    section.server.resources().registerSessionEventBuffer(buffer)
    for (let n = 0; n < 7; n++) buffer.append({ source: 's', stream: 't', message: 'm' })
  })

  it('knows the values of each variable', async () => {
    const { digest } = await artefactPutBytes(Buffer.from('c'), { root: section.root })
    const hex = digest.slice('sha256:'.length)
    const table: [string, string, string, string[]][] = [
      [eventsTemplate, 'session_id', 'ren', ['render 12']],
      ['artefact://sha256/{hex}', 'hex', hex.slice(0, 6), [hex]],
      ['artefact://sha256/{hex}{?as,offset,limit,max_width}', 'hex', hex, [hex]],
      ['artefact://sha256/{hex}', 'hex', 'x', []],
      [
        'item://{number}',
        'number',
        '14',
        ['14', ...Array.from({ length: 10 }, (_, n) => `14${n}`)],
      ],
    ]
    for (const [uri, name, value, values] of table) {
      const completion = await completed(section.session, uri, name, value)
      expect(completion, `${uri} ${name}`).to.deep.equal({ values })
    }
  })

  it('gives at most 100 values, and says that there are more', async () => {
    const items = await completed(section.session, 'item://{number}', 'number')
    expect(items.values).to.have.length(100)
    expect(items.hasMore).to.equal(true)
  })

  it('narrows values by those chosen for the other variables', async () => {
    const values = async (uri: string, name: string, resolved: object) =>
      (await completed(section.session, uri, name, '', resolved)).values
    const shots = 'shot://{sequence}/{shot}'
    expect(await values(shots, 'shot', {})).to.deep.equal([])
    expect(await values(shots, 'shot', { sequence: 'b' })).to.deep.equal(['30'])
  })

  it('takes a context that is missing or null as none', async () => {
    const ref = { type: 'ref/resource', uri: eventsTemplate }
    const params = { ref, argument: { name: 'session_id', value: 'ren' } }
    for (const context of [{}, { context: null }, { context: {} }]) {
      const { result } = await section.session.call('completion/complete', {
        ...params,
        ...context,
      })
      expect(result.completion.values, JSON.stringify(context)).to.deep.equal(['render 12'])
    }
  })

  const wrong: [string, object, RegExp][] = [
    [
      'an unknown template',
      { ref: { type: 'ref/resource', uri: 'none://{a}' } },
      /templates\/list/,
    ],
    ['a resource', { ref: { type: 'ref/resource', uri: scene } }, /templates\/list/],
    ['a prompt', { ref: { type: 'ref/prompt', name: 'a' } }, /ref\/resource/],
    ['a value that is no string', { argument: { name: 'limit', value: 5 } }, /argument\.value/],
    ['a context that is no object', { context: 5 }, /"context/],
    ['another type of argument', { context: { arguments: { cursor: 5 } } }, /"context/],
  ]
  for (const [what, members, message] of wrong) {
    it(`refuses ${what} with −32602`, async () => {
      const ref = { type: 'ref/resource', uri: eventsTemplate }
      const params = { ref, argument: { name: 'session_id', value: '' }, ...members }
      const error = await failure(section.session, 'completion/complete', params)
      expect(error).to.include({ code: -32602 })
      expect(error.message).to.match(message)
    })
  }
})
