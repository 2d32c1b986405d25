import { expect } from 'chai'
import type { CatalogEntry } from '../../../../src/server/gateway/catalog/catalog-entry.ts'
import { rankEntries } from '../../../../src/server/gateway/catalog/rank-entries.ts'

const entries: CatalogEntry[] = [
  { name: 'rig-tools', description: 'Build rigs for characters', dcc: ['maya'], tags: ['rig'] },
  { name: 'maya-bridge', description: 'Talks to the application', dcc: ['maya'] },
  { name: 'cloth', description: 'Simulation; works with Maya and Houdini', tags: ['fx'] },
  { name: 'houdini-fx', description: 'Effects', targets: [{ kind: 'dcc', id: 'houdini' }] },
  { name: 'paint', description: 'Paint weights of rigs', tags: ['maya', 'weights'] },
  { name: 'Übersicht', description: 'Bilder und Szenen', dcc: ['blender'] },
  { name: 'blender-rig-tools', description: 'Rigs', dcc: ['blender'] },
]

const ranked = (query: string) => rankEntries(entries, query).map(({ name }) => name)

const all = [
  'blender-rig-tools',
  'cloth',
  'houdini-fx',
  'maya-bridge',
  'paint',
  'rig-tools',
  'Übersicht',
]

describe('rankEntries', () => {
  const cases: [query: string, names: string[]][] = [
    ['', all],
    ['  --- !', all],
    // In a name and the application, in the application, in a tag, in the description.
    ['maya', ['maya-bridge', 'rig-tools', 'paint', 'cloth']],
    ['MAYA', ['maya-bridge', 'rig-tools', 'paint', 'cloth']],
    // The exact name before a name that has both words.
    ['rig-tools', ['rig-tools', 'blender-rig-tools', 'paint']],
    // Both words before one of them, however well that one fits.
    ['maya rig', ['rig-tools', 'paint', 'maya-bridge', 'blender-rig-tools', 'cloth']],
    ['houd', ['houdini-fx', 'cloth']],
    ['fx', ['houdini-fx', 'cloth']],
    ['weights', ['paint']],
    ['imul', ['cloth']],
    ['übers', ['Übersicht']],
    ['ÜBERSICHT', ['Übersicht']],
    ['ｍａｙａ bridge', ['maya-bridge', 'rig-tools', 'paint', 'cloth']],
    ['nowhere', []],
    ['maya maya maya', ['maya-bridge', 'rig-tools', 'paint', 'cloth']],
  ]
  for (const [query, names] of cases) {
    it(`answers "${query}" with ${names.join(', ') || 'nothing'}`, () => {
      expect(ranked(query)).to.deep.equal(names)
    })
  }

  it('puts the entry of that very name first, whatever else another has', () => {
    const exact = { name: 'rope', description: 'x' }
    const other = { name: 'kit-rope', description: 'rope', tags: ['rope'], dcc: ['rope'] }
    for (const query of ['rope', ' ROPE ']) {
      const [first] = rankEntries([other, exact], query)
      expect(first?.name, query).to.equal('rope')
    }
  })

  it('does not depend on the order of the catalog', () => {
    for (const query of ['', 'maya', 'rig', 'e']) {
      const reversed = rankEntries(entries.toReversed(), query).map(({ name }) => name)
      expect(reversed, query).to.deep.equal(ranked(query))
    }
  })

  it('looks at a bounded number of words', () => {
    const words = Array.from({ length: 100_000 }, (_, at) => `w${at}`).join(' ')
    expect(ranked(`${words} maya`)).to.deep.equal([])
  })

  it('does not care how often a description has a word', () => {
    const often = { name: 'a-often', description: 'rock rock rock rock rock' }
    const tagged = { name: 'b-tagged', description: 'x', tags: ['rock'] }
    expect(rankEntries([often, tagged], 'rock').map(({ name }) => name)).to.deep.equal([
      'b-tagged',
      'a-often',
    ])
  })
})
