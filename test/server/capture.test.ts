import { expect } from 'chai'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { type Answering, LinkClient } from '../helpers/link.ts'
import { type Events, RawSession } from '../helpers/mcp.ts'
import { pngOf } from '../helpers/pictures.ts'
import type { RunningServe } from '../helpers/serve-process.ts'
import { until } from '../helpers/until.ts'

const uri = 'capture://current_window'
const listChanged = 'notifications/resources/list_changed'

const window = { targets: ['window'] }
const both = { targets: ['window', 'viewport'] }
const nothing = { targets: [] }

describe('capture://current_window, taken by the application itself', () => {
  let serve: RunningServe
  let session: RawSession
  let events: Events
  let app: LinkClient

  before(async () => {
    serve = await serveInProcess({ flags: ['--capture', 'host'] })
    session = await RawSession.open(serve.url)
    events = await session.listen()
  })

  const isListed = async () => {
    const { result } = await session.call('resources/list')
    return result.resources.some((each: { uri: string }) => each.uri === uri)
  }
  const read = (query = '') => session.call('resources/read', { uri: uri + query })
  /** Connects an application with this offer, once it is in the list. */
  async function begin(capture: object, answer: Answering): Promise<void> {
    app = await LinkClient.connect(serve, { capture })
    app.answer = answer
    await until(isListed, 'the resource in the list')
  }
  const offer = (capture: object) => app.done({ type: 'app.update', capture })
  const widthOf = async (of: string) => {
    const { result, error } = await session.call('resources/read', { uri: of })
    return error ?? Buffer.from(result.contents[0].blob, 'base64').readUInt32BE(16)
  }
  const told = () => events.messages.filter(({ method }) => method === listChanged).length

  it('is there from the offer to its withdrawal, and clients hear of both', async () => {
    app = await LinkClient.connect(serve)
    expect(await isListed()).to.equal(false)
    expect((await read()).error.code).to.equal(-32002)
    const before = told()
    await offer(window)
    await until(isListed, 'the resource in the list')
    await until(() => told() > before, 'the notice of it')
    await offer(nothing)
    await until(async () => !(await isListed()), 'its going')
    await until(() => told() > before + 1, 'the notice of that')
  })

  it('brings the viewport alone, where the application draws it', async () => {
    await begin(both, ({ target }) => ({ png: pngOf(target === 'window' ? 40 : 20, 10) }))
    const viewport = 'capture://viewport'
    const template = `${viewport}{?camera,of,view,max_width}`
    const isOffered = async () => {
      const { result } = await session.call('resources/templates/list')
      return result.resourceTemplates.some(({ uriTemplate }: any) => uriTemplate === template)
    }
    expect(await widthOf(`${viewport}?max_width=30`)).to.equal(20)
    expect(await widthOf(uri)).to.equal(40)
    expect(await isOffered()).to.equal(true)

    await offer(window)
    await until(async () => !(await isOffered()), 'the end of the offer')
    expect(await widthOf(viewport)).to.include({ code: -32002 })
    expect(await widthOf(uri)).to.equal(40)
  })

  it('draws the scene from where the reader says, where the application can', async () => {
    const asked: unknown[] = []
    await begin({ ...both, shots: true }, ({ target, shot }) => {
      asked.push(shot)
      if (shot?.camera !== undefined && shot.camera !== 'Camera') {
        return { code: 'not_found', message: `there is no camera ${shot.camera}` }
      }
      const png = pngOf(target === 'viewport' ? 20 : 40, 10)
      return shot === undefined ? { png, view: { eye: 7 } } : { png }
    })
    const shotAt = (query: string) => widthOf(`capture://viewport?${query}`)
    expect(await shotAt('camera=Camera&max_width=30')).to.equal(20)
    expect(await shotAt('of=Cube,Lamp&view=top')).to.equal(20)
    expect(await shotAt('of=Cube')).to.equal(20)
    expect(await shotAt('')).to.equal(20)
    expect(asked).to.deep.equal([
      { camera: 'Camera' },
      { of: ['Cube', 'Lamp'], from: 'top' },
      { of: ['Cube'], from: 'three-quarter' },
      undefined,
    ])
    const { result: onScreen } = await session.call('resources/read', { uri: 'capture://viewport' })
    const { _meta: meta } = onScreen.contents[0]
    expect(meta).to.deep.equal({ 'service-cli/capture': { view: { eye: 7 } } })
    const none = await shotAt('camera=Other')
    expect(none.data).to.include({ reason: 'not_found' })
    expect(none.message).to.include('there is no camera Other')
    expect((await shotAt('camera=Camera&of=Cube')).message).to.include(
      'cannot be combined with "of"',
    )
    expect((await shotAt('view=top')).message).to.include('"view" needs "of"')

    await offer(both)
    const plain = async () => (await shotAt('camera=Camera')).data?.reason === 'failed'
    await until(plain, 'an application without shots')
    expect((await shotAt('camera=Camera')).message).to.include('only as it is on the screen')
  })

  it('says in the words of the application why it has left with its scene', async () => {
    const other = await serveInProcess({})
    const reader = await RawSession.open(other.url)
    const left = await LinkClient.connect(other)
    left.say({ type: 'bye', clear: true, reason: 'the add-on is disabled' })
    await left.closed
    const { error } = await reader.call('resources/read', { uri })
    expect(error.data.hint).to.equal(
      'no application is connected; the application says: "the add-on is disabled"; ' +
        'ask the person to connect it again',
    )
  })
})
