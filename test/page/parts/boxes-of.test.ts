import { expect } from 'chai'
import { boundsOf, boxesOf } from '../../../page/parts/boxes-of.ts'

describe('boxes of objects', () => {
  it('turns a scene whose z axis points up', () => {
    const bbox = { min: [0, 0, 0], max: [2, 4, 6] }
    expect(boxesOf([{ id: 'A', bbox }], 'z')).to.deep.equal([
      { id: 'A', centre: [1, 3, -2], size: [2, 6, 4], isPoint: false },
    ])
    expect(boxesOf([{ id: 'A', bbox }], 'y')[0]).to.deep.include({ centre: [1, 2, 3] })
  })

  it('takes the position in the world before the one in the parent, and leaves out the rest', () => {
    const objects = [{ id: 'A', translate: [9, 9, 9], world_translate: [1, 2, 3] }, { id: 'B' }]
    expect(boxesOf(objects, 'y')).to.deep.equal([
      { id: 'A', centre: [1, 2, 3], size: [0, 0, 0], isPoint: true },
    ])
  })

  it('has a sphere around all boxes, and one of use around nothing', () => {
    const boxes = boxesOf([{ id: 'A', bbox: { min: [0, 0, 0], max: [3, 4, 0] } }], 'y')
    expect(boundsOf(boxes)).to.deep.equal({ centre: [1.5, 2, 0], radius: 2.5 })
    expect(boundsOf([])).to.deep.equal({ centre: [0, 0, 0], radius: 1 })
  })
})
