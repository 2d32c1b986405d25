import { expect } from 'chai'
import { payload, registry } from './support.ts'

function summaryOf(scene: object): Record<string, any> {
  const resources = registry()
  resources.setScene(scene)
  const [content] = resources.read('scene://current?view=summary') as readonly { text: string }[]
  expect(Buffer.byteLength(content!.text)).to.be.at.most(4096)
  return payload(resources, 'scene://current?view=summary')
}

const objects = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    id: `Object.${at}`,
    name: `Object.${at}`,
    type: at % 10 === 0 ? 'light' : 'mesh',
    visible: at % 4 !== 0,
    translate: [at, -at, 0],
  }))

const dcc = (count: number) => ({
  schema: 'dcc-scene/1',
  detail: 'standard',
  dcc: { type: 'blender', version: '4.2.1', pid: 1, mode: 'gui' },
  document: { path: '/shots/shot.blend', name: 'shot.blend', modified: true },
  scene: { name: 'Scene', view_layer: 'ViewLayer', scenes: ['Scene'] },
  time: { frame: 1, start: 1, end: 250, fps: 24, playing: false },
  selection: { ids: ['Object.1', 'Object.3'], active: 'Object.3', count: 2, truncated: false },
  camera: 'Object.2',
  render: { engine: 'cycles', width: 1920, height: 1080, percentage: 100, samples: 128 },
  collections: [
    { name: 'Scene Collection', parent: null, objects: 0 },
    { name: 'Props', parent: 'Scene Collection', objects: 12 },
    { name: 'Cups', parent: 'Props', objects: 3 },
  ],
  objects: objects(count),
  truncated: { objects: false, total: count, limit: 2000 },
  warnings: [{ code: 'file_missing', path: '/shots/wood.png' }],
})

describe('view=summary of scene://current', () => {
  it('answers the usual questions of a scene of the add-on', () => {
    const summary = summaryOf(dcc(50))
    expect(summary).to.deep.include({
      view: 'summary',
      document: { path: '/shots/shot.blend', name: 'shot.blend', modified: true },
      selection: { count: 2, active: 'Object.3', ids: ['Object.1', 'Object.3'] },
      camera: { id: 'Object.2', translate: [2, -2, 0] },
      objects: { total: 50, listed: 50, by_type: { mesh: 45, light: 5 } },
      collections: ['Scene Collection (0)', 'Props (12)', 'Cups (3)'],
      warnings: [{ code: 'file_missing', path: '/shots/wood.png' }],
    })
    expect(summary['render']).to.include({ engine: 'cycles', samples: 128 })
    expect(summary['hidden'].count).to.equal(13)
    expect(summary['hidden'].ids.slice(0, 2)).to.deep.equal(['Object.0', 'Object.4'])
  })

  it('takes members of any type', () => {
    // `String` throws for it.
    const hostile = { toString: 0, valueOf: 0 }
    const scene = {
      ...dcc(0),
      objects: [{ id: hostile, name: hostile, type: hostile, parent: hostile }],
      collections: [{ name: hostile, objects: hostile }],
    }
    const { objects: summarised, collections } = summaryOf(scene)
    expect(summarised['by_type']).to.deep.equal({ '{"toString":0,"valueOf":0}': 1 })
    expect(collections).to.deep.equal(['{"toString":0,"valueOf":0} (0)'])
    const counted = summaryOf({ ...scene, counts: { by_type: { mesh: 2, light: hostile } } })
    expect(counted['objects'].by_type).to.deep.equal({ mesh: 2 })
  })

  it('names the objects of a small scene', () => {
    const { objects: summarised } = summaryOf(dcc(3))
    expect(summarised['ids']).to.deep.equal(['Object.0', 'Object.1', 'Object.2'])
  })

  it('stays within 4 KB for any number of objects, names of any length included', () => {
    expect(summaryOf(dcc(10_000))['objects']).to.include({ total: 10_000 })
    const long = 'ü'.repeat(500)
    const named = dcc(200).objects.map((each, at) => ({ ...each, id: `${at}${long}`, type: long }))
    const scene = {
      ...dcc(0),
      objects: named,
      camera: long,
      selection: { ids: named, active: long },
    }
    expect(summaryOf(scene)['objects']).to.include({ listed: 200 })
  })

  it('is the shape of a scene of another form', () => {
    const scene = {
      shot: 'sh010',
      nodes: [{ id: 1, kind: 'geo' }, { id: 2 }],
      fps: 24,
      up: [0, 0, 1],
      settings: { quality: { level: 1 }, tags: ['a'] },
    }
    expect(summaryOf(scene)).to.deep.equal({
      view: 'summary',
      members: {
        shot: 'sh010',
        nodes: '[array: 2 items]',
        fps: 24,
        up: [0, 0, 1],
        settings: '[object: 2 members]',
      },
    })
  })
})
