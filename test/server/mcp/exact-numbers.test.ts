import { expect } from 'chai'
import { gatewayInProcess, serveInProcess } from '../../helpers/in-process-servers.ts'
import { LinkClient } from '../../helpers/link.ts'
import { ask, RawSession } from '../../helpers/mcp.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { newFolder } from '../../helpers/cleanup.ts'

const registryDir = newFolder()

const object = (id: string, more = '') => `{"id":${id},"name":"N${id}","x":1.0${more}}`
/** Ids in arrays inside arrays, and 2,000 objects. */
const many = Array.from({ length: 2000 }, (_, at) => object(`90071992547${40993 + at}`))
const scene = `{"frame":1e3,"objects":[${many.join(',')}],"rows":[[{"id":9007199254740993,"at":[[-0,2.50]]}]],"big":9007199254740993}`

describe('numbers of an application', () => {
  let serve: RunningServe
  let session: RawSession

  before(async () => {
    serve = await serveInProcess({ registryDir, flags: ['--dcc-type', 'blender'] })
    session = await RawSession.open(serve.url)
  })
  beforeEach(async () => {
    expect(await serve.post('scene', scene)).to.include({ status: 200 })
  })

  /** The text of the resource as it was sent: parsing it here would lose the digits. */
  const read = async (uri: string, of = session): Promise<string> => {
    const { result, error } = await of.call('resources/read', { uri })
    return result?.contents[0].text ?? error.message
  }
  const query = async (args: object, of = session): Promise<string> => {
    const { result } = await of.call('tools/call', { name: 'query_scene', arguments: args })
    return result.content[0].text
  }
  const patch = (body: string) =>
    ask(`${serve.hostUrl}/v1/scene`, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${serve.token}`, 'Content-Type': 'application/json' },
      body,
    })

  it('come back as they were written in the scene and in every part of it', async () => {
    expect(await read('scene://current')).to.equal(scene)
    const first = '{"id":9007199254740993,"name":"N9007199254740993","x":1.0}'
    const parts: [query: string, has: string][] = [
      ['pointer=/rows', '[[{"id":9007199254740993,"at":[[-0,2.50]]}]]'],
      ['pointer=/frame', '"value":1e3'],
      ['pointer=/big', '"value":9007199254740993'],
      ['fields=x&limit=1', '{"id":9007199254740993,"x":1.0}'],
      ['name=N9007199254740993', first],
      ['view=summary', '"big":9007199254740993'],
    ]
    for (const [parameters, has] of parts) {
      expect(await read(`scene://current?${parameters}`), parameters).to.contain(has)
    }
  })

  const filters: [parameters: string, total: number][] = [
    ['ids=9007199254740993', 1],
    ['ids=9007199254740992', 0],
    ['ids=%5B9007199254740993,9007199254740995%5D', 2],
    ['where=id:9007199254740992', 0],
    ['where=x:1.0', 2000],
    ['where=x:1.5', 0],
  ]
  for (const [parameters, total] of filters) {
    it(`are compared by digits: ${parameters} finds ${total}`, async () => {
      expect(await read(`scene://current?${parameters}`)).to.contain(`"total":${total},`)
      const [name = '', value = ''] = decodeURIComponent(parameters).split('=')
      const list = value.replace(/[[\]]/g, '').split(',')
      const argument = name === 'ids' ? list : value
      expect(await query({ [name]: argument, limit: 1 })).to.contain(`"total":${total},`)
    })
  }

  it('keep the lists equal that differ in how they are written', async () => {
    await serve.post('scene', '{"objects":[{"id":1.0,"t":[0.0,1.0]},{"id":"1","t":[0,2]}]}')
    expect(await read('scene://current?where=t:%5B0,1%5D')).to.contain('[{"id":1.0,"t":[0.0,1.0]}]')
    expect(await read('scene://current?ids=1')).to.contain('"total":2')
    expect(await read('scene://current?ids=1.00')).to.contain('"total":1')
  })

  it('come back from a patch, by HTTP and over the host link', async () => {
    await serve.post('scene', '{"objects":[{"id":"A","x":1.0},{"id":"B"}],"n":1.50}')
    await read('scene://current?pointer=/n')
    const body = '{"objects":[{"id":"B","x":[[9007199254740993,-0.0]]}],"members":{"m":2.0}}'
    expect(await patch(body)).to.include({ status: 200 })
    const patched =
      '{"objects":[{"id":"A","x":1.0},{"id":"B","x":[[9007199254740993,-0.0]]}],"n":1.50,"m":2.0}'
    expect(await read('scene://current')).to.equal(patched)
    expect(await read('scene://current?ids=B')).to.contain('[[9007199254740993,-0.0]]')
    expect(await read('scene://current?pointer=/m')).to.contain('"value":2.0')

    const app = await LinkClient.connect(serve)
    app.say('{"type":"scene.set","id":"1","scene":{"objects":[{"id":"A","x":1.0}],"n":1.50}}')
    await app.until(() => app.ofType('ok').length === 1, 'the scene')
    const [{ revision: base }] = app.ofType('ok')
    const objects = '[{"id":"B","x":9007199254740993}]'
    app.say(`{"type":"scene.patch","id":"2","base":${base},"objects":${objects}}`)
    await app.until(() => app.ofType('ok').length === 2, 'the patch')
    expect(await read('scene://current')).to.equal(
      '{"objects":[{"id":"A","x":1.0},{"id":"B","x":9007199254740993}],"n":1.50}',
    )
    await app.bye()
  })

  it('come back from audit records, session events and the metadata of artefacts', async () => {
    const value = '{"x":1.0,"id":9007199254740993,"in":[[1e3]]}'
    const record = `{"action":"a","duration_ms":5.0,"params":${value}}`
    const event = `{"source":"a","stream":"b","message":"c","metadata":${value}}`
    expect(await serve.post('audit', `{"records":[${record}]}`)).to.include({ status: 200 })
    expect(await read('audit://recent?limit=1')).to.contain(`"params":${value},"duration_ms":5,`)
    expect(await serve.post('events/s1', `{"events":[${event}]}`)).to.include({ status: 200 })
    expect(await read('events://session/s1')).to.contain(`"metadata":${value}`)
    const hex = await serve.store('x', `?metadata=${encodeURIComponent(value)}`)
    const artefact = async (sha256: string) => {
      const params = { uri: `artefact://sha256/${sha256}` }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params })
      return (await session.post(body)).text
    }
    expect(await artefact(hex)).to.contain(`"metadata":${value}`)
  })

  it('come through a gateway', async () => {
    const gateway = gatewayInProcess({ port: 0, registryDir, flags: ['--aggregate'] })
    const { url } = await gateway.line('listening')
    const outer = await RawSession.open(url)
    const base = `instance://${serve.instanceId}/scene/current`
    expect(await read(base, outer)).to.equal(scene)
    const part = await read(`${base}?ids=9007199254740993&fields=x`, outer)
    expect(part).to.contain('[{"id":9007199254740993,"x":1.0}]')
    expect(await query({ where: 'id:9007199254740994' }, outer)).to.contain('"total":1')
    expect(await query({ pointer: '/rows' }, outer)).to.contain('[[-0,2.50]]')
  })
})
