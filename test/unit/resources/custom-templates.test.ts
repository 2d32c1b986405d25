import { expect } from 'chai'
import { fail, serving } from './support.ts'

describe('a custom producer with templates', () => {
  const template = { uriTemplate: 'docs://{page}', name: 'Page' }
  const bad: [how: string, templates: () => unknown][] = [
    ['throw', fail],
    ['are a promise', async () => [template]],
    ['are of another scheme', () => [{ ...template, uriTemplate: 'scene://{a}' }]],
    ['have hints out of their form', () => [{ ...template, annotations: 1 }]],
  ]
  for (const [how, templates] of bad) {
    it(`loses only its own templates when they ${how}`, () => {
      const { resources } = serving({ templates })
      expect(resources.templates()).to.have.length(4)
    })
  }

  it('is completed from its list', async () => {
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
})
