import { expect } from 'chai'
import type { ObjectRow } from '../../../page/live/objects.ts'
import { flatten, search } from '../../../page/parts/flatten.ts'

const rowsOf = (...rows: ObjectRow[]) => new Map(rows.map(row => [row.id, row]))
const ids = (rows: readonly { row: ObjectRow; level: number }[]) =>
  rows.map(({ row, level }) => `${level} ${row.id}`)

describe('the rows of the tree', () => {
  const family = rowsOf(
    { id: 'Arm', parent: 'Body' },
    { id: 'Body' },
    { id: 'Hand', parent: 'Arm' },
    { id: 'Sun', type: 'light' },
  )

  it('puts children below their parents, in the order of the scene, two levels deep at first', () => {
    expect(ids(flatten(family, new Map()))).to.deep.equal(['1 Body', '2 Arm', '1 Sun'])
    const opened = flatten(family, new Map([['Arm', true]]))
    expect(ids(opened)).to.deep.equal(['1 Body', '2 Arm', '3 Hand', '1 Sun'])
  })

  it('leaves out the children of closed rows and says how many there are', () => {
    const rows = flatten(family, new Map([['Body', false]]))
    expect(ids(rows)).to.deep.equal(['1 Body', '1 Sun'])
    expect(rows[0]).to.include({ isOpen: false, childCount: 1, position: 1, siblings: 2 })
  })

  it('shows objects whose parent is not listed, or is the object itself, as roots', () => {
    const rows = rowsOf({ id: 'A', parent: 'Gone' }, { id: 'B', parent: 'B' })
    expect(ids(flatten(rows, new Map()))).to.deep.equal(['1 A', '1 B'])
  })

  it('shows chains of parents of any length', () => {
    const chain = Array.from({ length: 20_000 }, (_, at) => ({
      id: `O${at}`,
      ...(at > 0 && { parent: `O${at - 1}` }),
    }))
    const opened = new Map(chain.map(({ id }) => [id, true]))
    expect(flatten(rowsOf(...chain), opened).at(-1)).to.include({ level: 20_000 })
  })

  it('finds objects by name and type in any case', () => {
    expect(ids(search(family, 'LIGHT'))).to.deep.equal(['1 Sun'])
    expect(ids(search(family, 'a'))).to.deep.equal(['1 Arm', '1 Hand'])
  })
})
