import { expect } from 'chai'
import { RawSession, startServer, type TestServer } from '../../../helpers/mcp.ts'

const objects = [
  { id: 'Cube', name: 'Cube', type: 'mesh', visible: true, x: 1 },
  { id: 'Cube.001', name: 'Cube.001', type: 'mesh', visible: true, x: 2 },
  { id: 'Key Light', name: 'Key Light', type: 'light', visible: false, energy: 5 },
]

describe('query_scene that finds nothing', () => {
  let server: TestServer
  let session: RawSession
  before(async () => {
    server = await startServer({ enableTools: true })
    session = await RawSession.open(server.url)
  })
  beforeEach(() => void server.server.resources().setScene({ frame: 1, render: {}, objects }))

  const query = async (args: object): Promise<any> => {
    const { result } = await session.call('tools/call', { name: 'query_scene', arguments: args })
    return JSON.parse(result.content[0].text)
  }

  const nothing: [args: object, hint: string][] = [
    [{ type: 'lamp' }, 'no type is "lamp"; known: mesh, light'],
    [{ name: 'Kay Light' }, 'no name is "Kay Light"; known: Key Light, '],
    [{ ids: ['cube.01', 'Q'] }, 'no id is "cube.01", "Q"; known: Cube.001, Cube, Key Light'],
    [{ where: 'visible:maybe' }, 'no visible is "maybe"; known: true, false'],
    [{ where: 'energie:5' }, 'no member is "energie"; known: energy, id, '],
    [{ where: 'colour:red' }, 'no member is "colour"; known: id, name, type, visible, '],
    [{ type: 'lamp', name: 'Cub' }, 'known: mesh, light; no name is "Cub"; known: Cube, '],
  ]
  for (const [args, hint] of nothing) {
    it(`says for ${JSON.stringify(args)} what there is`, async () => {
      const part = await query(args)
      expect(part).to.include({ returned: 0 })
      expect(part.hint).to.contain(hint)
      const parameters = Object.entries(args).map(
        ([name, value]) => `${name}=${encodeURIComponent(String(value))}`,
      )
      const uri = `scene://current?${parameters.join('&')}`
      expect((await session.readJson(uri)).hint).to.equal(part.hint)
    })
  }

  it('says so for fields that none of the objects has, beside those that they have', async () => {
    const part = await query({ type: 'mesh', fields: ['x', 'energy'] })
    expect(part.hint).to.equal('no member is "energy"; known: id, name, type, visible, x')
    expect(part.items[0]).to.deep.equal({ id: 'Cube', x: 1 })
    const value = await query({ pointer: '/objects/0', fields: ['colour'] })
    expect(value.hint).to.match(/^no member is "colour"; known: id, /)
  })

  it('finds true and false in any case, and then has no hint', async () => {
    for (const where of ['visible:False', 'visible:FALSE', 'visible:false']) {
      const part = await query({ where })
      expect(part, where).to.include({ total: 1 }).and.not.have.property('hint')
    }
    expect(await query({ where: 'visible:True', fields: ['x'] })).to.include({ total: 2 })
    expect(await query({ offset: 1 })).to.not.have.property('hint')
  })

  it('compares neither a missing name nor a number beyond the range', async () => {
    const objects = [{ name: null, z: null }, { id: 2, z: 3 }, { type: 'mesh' }]
    server.server.resources().setScene({ objects })
    for (const args of [
      { ids: ['undefined', 'null'] },
      { where: 'z:1e400' },
      { where: 'z:[1e400]' },
      { name: 'undefined' },
    ]) {
      expect(await query(args), JSON.stringify(args)).to.include({ total: 0 })
    }
    expect(await query({ name: '*' })).to.include({ total: 1 })
  })

  it('names objects without id by their name, and numbers as they are', async () => {
    server.server.resources().setScene({ objects: [{ name: 'a' }, { name: 'b' }] })
    expect((await query({ ids: ['c'] })).hint).to.equal('no id is "c"; known: a, b')
    server.server.resources().setScene({ objects: [{ id: 7 }, { id: 8 }] })
    expect((await query({ name: 'x' })).hint).to.equal('no name is "x"; known: 7, 8')
    expect(await query({ name: '8' })).to.include({ total: 1 })
  })

  it('names ids that are unknown beside those that are found', async () => {
    server.server
      .resources()
      .setScene({ objects: [{ id: 'a' }, { id: 7 }], truncated: { total: 3 } })
    const part = await query({ ids: ['a', '7.0', 'b'] })
    expect(part.total).to.equal(2)
    expect(part.hint).to.equal(
      'no id is "b"; known: a, 7; the application lists only 2 of 3 objects',
    )
    expect(await query({ ids: ['a', '7'] })).to.not.have.property('hint')
  })

  it('says that the application lists a part of the objects', async () => {
    server.server.resources().setScene({ objects, truncated: { total: 5000 } })
    const { hint } = await query({ type: 'camera' })
    expect(hint).to.match(/; the application lists only 3 of 5000 objects$/)
  })

  it('stays short and on one line, whatever objects are called', async () => {
    const names = Array.from({ length: 2000 }, (_, at) => `${at} \n\u001b[31m${'x'.repeat(500)}`)
    const many = names.map(name => ({ id: name, name, type: name, [name]: 1 }))
    server.server.resources().setScene({ objects: many })
    for (const args of [
      { type: 'qq' },
      { name: 'qq' },
      { ids: ['qq', 'qqq', 'qqqq'] },
      { where: 'qq:1' },
      { fields: ['qq'], limit: 1 },
    ]) {
      const { hint } = await query({ ...args, max_chars: 200_000 })
      expect(hint.length).to.be.within(50, 3000)
      expect(hint)
        .to.match(/and \d+ more/)
        .and.not.match(/[\n\u001b]/)
    }
  })
})
