import { expect } from 'chai'
import { fail, never, serving } from './support.ts'

describe('a custom producer with templates', () => {
  const template = { uriTemplate: 'docs://{page}', name: 'Page' }
  const bad: [how: string, templates: () => unknown][] = [
    ['throw', fail],
    ['are a promise', async () => [template]],
    ['are of another scheme', () => [{ ...template, uriTemplate: 'scene://{a}' }]],
    ['have hints out of their form', () => [{ ...template, annotations: { priority: -1 } }]],
  ]
  for (const [how, templates] of bad) {
    it(`loses only its own templates when they ${how}`, () => {
      const { resources } = serving({ templates })
      expect(resources.templates()).to.have.length(4)
    })
  }

  it('serves only the known members of its templates', () => {
    const hints = { annotations: { priority: 1 }, icons: [{ src: 'data:image/png;base64,AAAA' }] }
    const { resources } = serving({ templates: () => [{ ...template, ...hints, x: 1 }] })
    expect(resources.templates().at(-1)).to.deep.equal({ ...template, ...hints })
  })

  it('receives the template and its resolved variables', async () => {
    const asked: unknown[] = []
    const uriTemplate = 'docs://{book}/{page}'
    const { resources } = serving({
      templates: () => [{ ...template, uriTemplate }],
      complete: (...args: unknown[]) => (asked.push(args), ['1', '2']),
    })
    const resolved = new Map([['book', 'rig']])
    expect(await resources.complete(uriTemplate, 'page', '', resolved)).to.deep.equal({
      values: ['1', '2'],
      total: 2,
      hasMore: false,
    })
    expect(asked).to.deep.equal([['page', '', { uriTemplate, resolved }]])
  })

  const partial: [given: object, expected: object][] = [
    [{ values: ['a'] }, { values: ['a'], hasMore: false }],
    [
      { values: ['a'], total: 7 },
      { values: ['a'], total: 7, hasMore: false },
    ],
    [
      { values: ['a'], hasMore: true },
      { values: ['a'], hasMore: true },
    ],
  ]
  for (const [given, expected] of partial) {
    it(`may return only some of the values: ${JSON.stringify(given)}`, async () => {
      const { resources } = serving({ templates: () => [template], complete: () => given })
      expect(await resources.complete('docs://{page}', 'page', '')).to.deep.equal(expected)
    })
  }

  it('is completed from its list when it does not complete', async () => {
    const list = ['docs://rig/1', 'docs://rig/2', 'docs://lamp/1'].map(uri => ({ uri, name: uri }))
    const uriTemplate = 'docs://{book}/{page}'
    const { resources } = serving({
      list: async () => list,
      templates: () => [{ ...template, uriTemplate }],
    })
    const values = async (variable: string, prefix: string, book?: string) => {
      const resolved = new Map(book === undefined ? [] : [['book', book]])
      return (await resources.complete(uriTemplate, variable, prefix, resolved)).values
    }
    expect(await values('book', '')).to.deep.equal(['rig', 'lamp'])
    expect(await values('book', 'l')).to.deep.equal(['lamp'])
    expect(await values('page', '')).to.deep.equal(['1', '2'])
    expect(await values('page', '', 'lamp')).to.deep.equal(['1'])
  })

  const broken: [how: string, complete: () => unknown][] = [
    ['throws', fail],
    ['returns nothing', () => null],
    ['returns values that are a string', () => ({ values: 'ab' })],
    ['returns numbers', () => [1, 2]],
    ['returns a total below the number of values', () => ({ values: ['a', 'b'], total: 1 })],
    ['returns a hasMore that is no boolean', () => ({ values: ['a'], hasMore: 'yes' })],
  ]
  for (const [how, complete] of broken) {
    it(`completes nothing when complete ${how}`, async () => {
      const { resources } = serving({ templates: () => [template], complete })
      const { values } = await resources.complete('docs://{page}', 'page', '')
      expect(values).to.deep.equal([])
    })
  }

  it('completes nothing when too many of its completions are pending, until they settle', async () => {
    const settle: ((values: string[]) => void)[] = []
    const complete = () => new Promise<string[]>(resolve => settle.push(resolve))
    const producer = { templates: () => [template], complete, read: async () => [] }
    const { resources, time, logged } = serving(producer, { maxPendingReads: 2 })
    const values = async () => (await resources.complete('docs://{page}', 'page', '')).values
    const late = [values(), values()]
    expect(await values()).to.deep.equal([])
    expect(settle).to.have.length(2)
    expect(logged).to.have.length(1)
    expect(await resources.read('docs://a')).to.deep.equal([])
    time.advance(2000)
    await Promise.all(late)
    // The callers gave up, and the work still goes on.
    expect(await values()).to.deep.equal([])
    expect(settle).to.have.length(2)
    settle[0]?.([])
    await new Promise(setImmediate)
    const next = values()
    settle[2]?.(['here'])
    expect(await next).to.deep.equal(['here'])
  })

  it('completes nothing when complete does not settle', async () => {
    const { resources, time } = serving({ templates: () => [template], complete: never })
    const completing = resources.complete('docs://{page}', 'page', '')
    time.advance(2000)
    expect((await completing).values).to.deep.equal([])
  })
})
