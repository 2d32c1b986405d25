import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { payload, registry } from './support.ts'

const lamp = { id: 'Lamp', name: 'Lamp', type: 'light', visible: true, translate: [1, 2, 3] }
const cube = { id: 'Cube', name: 'Cube', type: 'mesh', visible: false, translate: [0, 0, 0] }
const cube2 = { id: 'Cube.001', name: 'Cube.001', type: 'mesh', selected: true }
const camera = { id: 'Camera', name: 'Camera', type: 'camera', native_type: 'CAMERA' }
const scene = {
  schema: 'dcc-scene/1',
  objects: [camera, lamp, cube, cube2],
  render: { engine: 'cycles', output: { path: '/tmp/x', tiles: [{ at: 1 }] } },
  'a/b': { '~': 1 },
}

const resources = registry()
resources.setScene(scene)
const read = (query: string) => payload(resources, `scene://current?${query}`)

describe('a part of scene://current', () => {
  const selections: [query: string, ids: string[]][] = [
    ['type=mesh', ['Cube', 'Cube.001']],
    ['type=LIGHT,mesh', ['Lamp', 'Cube', 'Cube.001']],
    ['name=cube*', ['Cube', 'Cube.001']],
    ['name=*.00?', ['Cube.001']],
    ['ids=%5B%22Lamp%22%5D', ['Lamp']],
    ['where=visible:false', ['Cube']],
    ['where=selected:true', ['Cube.001']],
    ['type=mesh&name=*1', ['Cube.001']],
    ['offset=2', ['Cube', 'Cube.001']],
    ['limit=1&offset=1', ['Lamp']],
    ['pointer=/objects&type=light', ['Lamp']],
  ]
  for (const [query, ids] of selections) {
    it(`has the objects selected by ${query}`, () => {
      const { items } = read(query) as { items: { id: string }[] }
      expect(items.map(({ id }) => id)).to.deep.equal(ids)
    })
  }

  it('says how many there are, how many it has and where the next page begins', () => {
    expect(read('limit=3&fields=name')).to.deep.equal({
      pointer: '/objects',
      total: 4,
      returned: 3,
      next_offset: 3,
      items: [camera, lamp, cube].map(({ id, name }) => ({ id, name })),
    })
    expect(read('limit=3&offset=3'))
      .to.include({ total: 4, returned: 1 })
      .and.not.have.property('next_offset')
  })

  it('has the value that a JSON pointer leads to', () => {
    expect(read('pointer=/render/engine')).to.deep.equal({
      pointer: '/render/engine',
      value: 'cycles',
    })
    expect(read('pointer=/a~1b/~0')).to.include({ value: 1 })
    expect(read('pointer=/objects/1/translate')).to.deep.include({ value: [1, 2, 3] })
    expect(read('pointer=/objects/1&fields=type')).to.deep.include({
      value: { id: 'Lamp', type: 'light' },
    })
  })

  it('is the identical answer until the scene changes', () => {
    const own = registry()
    own.setScene(scene)
    const first = own.read('scene://current?type=mesh')
    expect(own.read('scene://current?type=mesh')).to.equal(first)
    own.setScene({ ...scene, objects: [cube] })
    expect(own.read('scene://current?type=mesh')).to.not.equal(first)
    expect(payload(own, 'scene://current?type=mesh')).to.include({ total: 1 })
  })

  it('has the other objects when an id or a name is of another form', () => {
    const own = registry()
    const odd = { toString: 0, valueOf: 0 }
    own.setScene({ objects: [{ id: odd, name: odd, type: odd }, lamp] })
    for (const query of ['ids=Lamp', 'name=Lamp', 'type=light']) {
      expect(payload(own, `scene://current?${query}`).items, query).to.deep.equal([lamp])
    }
  })

  const refused: [query: string, message: string][] = [
    ['colour=red', 'known: view, pointer, type'],
    ['view=all', 'must be one of summary'],
    ['view=summary&type=mesh', 'takes no other parameter'],
    ['limit=1001', 'an integer from 1 to 1000'],
    ['offset=-1', 'a non-negative integer'],
    ['where=visible', 'must be member:value'],
    ['ids=%5Bx', 'values separated by commas'],
    ['pointer=render', 'members there: schema, objects, render'],
    ['pointer=/objects/length', 'leads to nothing'],
    ['pointer=/render&type=mesh', 'leads to no array'],
  ]
  for (const [query, message] of refused) {
    it(`is refused for ${query}, and the message tells what would do`, () => {
      expect(() => resources.read(`scene://current?${query}`))
        .to.throw(ServiceError, message)
        .with.property('code', 'resource_uri_invalid')
    })
  }

  it('takes a glob of many stars in the time of one', () => {
    const own = registry()
    own.setScene({ objects: [{ id: 'a', name: 'a'.repeat(100_000) }] })
    const { total } = payload(own, `scene://current?name=${'*a'.repeat(500)}*b`)
    expect(total).to.equal(0)
  })

  it('is of the patched scene, whatever is read between the patches', () => {
    const own = registry({ maxSceneRevisionBytes: 3000 })
    // A small generator of numbers, so that each run is the same.
    let seed = 7
    const below = (most: number) => (seed = (seed * 48_271) % 2_147_483_647) % most
    own.setScene({ objects: [], frame: 0 })
    for (let n = 0; n < 2000; n++) {
      const id = `Object.${below(30)}`
      const what = below(10)
      if (what === 0) own.setScene({ objects: [{ id }], frame: n })
      else if (what < 3) own.patchScene({ removed: [id], members: { frame: n } })
      else if (what < 5) own.patchScene({ members: { [`m${below(5)}`]: n } })
      else if (what < 6) own.patchScene({ unset: [`m${below(5)}`] })
      else own.patchScene({ objects: [{ id, n }, { id: `${id}b` }] })
      if (below(3) > 0) continue
      const whole = payload(own, 'scene://current')
      const { value } = payload(own, 'scene://current?pointer=')
      expect(value, `after ${n} steps`).to.deep.equal(whole)
    }
  })

  it('has a patched member __proto__ like any other', () => {
    const own = registry()
    own.setScene({ objects: [], frame: 1 })
    expect(payload(own, 'scene://current?pointer=/frame')).to.include({ value: 1 })
    own.patchScene({ members: JSON.parse('{"__proto__":{"frame":7}}') })
    own.patchScene({ unset: ['frame'] })
    const { value } = payload(own, 'scene://current?pointer=/__proto__')
    expect(value).to.deep.equal({ frame: 7 })
    expect(() => payload(own, 'scene://current?pointer=/frame')).to.throw('leads to nothing')
  })
})
