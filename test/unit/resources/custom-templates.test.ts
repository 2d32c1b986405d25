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
    const hints = { annotations: { priority: 1 } }
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
    })
    expect(asked).to.deep.equal([['page', '', { uriTemplate, resolved }]])
  })

  it('is completed from its list when it does not complete', async () => {
    const uris = ['docs://rig/1', 'docs://rig/2', 'docs://A%20B/1', 'docs://']
    const list = uris.map(uri => ({ uri, name: uri }))
    const uriTemplate = 'docs://{book}/{page}'
    const { resources } = serving({
      list: async () => list,
      templates: () => [{ ...template, uriTemplate }],
    })
    const values = async (variable: string, prefix: string, book?: string) => {
      const resolved = new Map(book === undefined ? [] : [['book', book]])
      return (await resources.complete(uriTemplate, variable, prefix, resolved)).values
    }
    expect(await values('book', '')).to.deep.equal(['rig', 'A B'])
    expect(await values('book', 'A')).to.deep.equal(['A B'])
    expect(await values('page', '')).to.deep.equal([])
    expect(await values('page', '', 'A B')).to.deep.equal(['1'])
  })

  const broken: [how: string, complete: () => unknown][] = [
    ['throws', fail],
    ['returns nothing', () => null],
    ['returns numbers', () => [1, 2]],
  ]
  for (const [how, complete] of broken) {
    it(`completes nothing when complete ${how}`, async () => {
      const { resources } = serving({ templates: () => [template], complete })
      const { values } = await resources.complete('docs://{page}', 'page', '')
      expect(values).to.deep.equal([])
    })
  }

  it('completes nothing when complete does not settle', async () => {
    const { resources, time } = serving({ templates: () => [template], complete: never })
    const completing = resources.complete('docs://{page}', 'page', '')
    time.advance(2000)
    expect((await completing).values).to.deep.equal([])
  })
})
