import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { HostClient, type HostClientOptions, HostLinkError } from '../../../src/host-client.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { freePort } from '../../helpers/free-port.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { LinkClient } from '../../helpers/link.ts'
import { RawSession, toolCall } from '../../helpers/mcp.ts'
import { pngOf } from '../../helpers/pictures.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { until } from '../../helpers/until.ts'

const registryDir = newFolder()
const cube = { id: 'cube', name: 'Cube', translate: [0, 0, 0] }
const lamp = { id: 'lamp', name: 'Lamp', translate: [0, 0, 5] }

function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (error: unknown) => error,
  )
}

/** A client that collects what it is told. */
class RecordingClient {
  readonly states: string[] = []
  readonly errors: string[] = []
  readonly link: HostClient

  constructor(options: Partial<HostClientOptions> & Pick<HostClientOptions, 'url' | 'token'>) {
    this.link = new HostClient({
      app: { dcc_type: 'viewer' },
      onStatus: (state, error) => {
        this.states.push(error === null ? state : `${state}: ${error.code}`)
        if (error !== null) this.errors.push(error.message)
      },
      onError: error => this.errors.push(error.message),
      ...options,
    })
  }

  async until(state: string): Promise<this> {
    await until(() => this.states.includes(state), `${state} among ${this.states}`)
    return this
  }
}

describe('the host client in Node', () => {
  let serve: RunningServe
  let session: RawSession
  let client: RecordingClient

  before(async () => {
    serve = await serveInProcess()
    session = await RawSession.open(serve.url)
  })
  afterEach(() => client.link.close())

  const connect = (options: Partial<HostClientOptions> = {}) => {
    client = new RecordingClient({ url: serve.hostUrl, token: serve.token, ...options })
    return client.until('connected')
  }
  const scene = () => session.readJson('scene://current')

  it('sends the scene, and then only what changed', async () => {
    const { link } = await connect({ document: { path: '/shots/010.view' } })
    link.setScene({ frame: 1, objects: [cube, lamp] })
    await link.flush()
    expect((await scene()).objects).to.deep.equal([cube, lamp])
    const moved = { ...cube, translate: [1, 0, 0] }
    const { revision } = await session.readJson('scene://delta')
    link.patchScene({ objects: [moved] })
    link.patchScene({ removed: ['lamp'], members: { frame: undefined, camera: 'front' } })
    await link.flush()
    const { frame, camera, objects } = await scene()
    expect([frame, camera, objects]).to.deep.equal([undefined, 'front', [moved]])
    const delta = await session.readJson(`scene://delta?since=${revision}`)
    expect(delta.revision, 'one message for both').to.equal(revision + 1)
    link.setScene(null)
    await link.flush()
    expect((await scene()).objects).to.equal(undefined)
  })

  it('says what is open, which is the document of a summary, and each time another', async () => {
    const { link } = await connect({ document: { name: 'one' } })
    link.setScene({ objects: [cube] })
    const document = async () => {
      const { result } = await session.call('tools/call', toolCall('query_scene'))
      return result.structuredContent.document
    }
    await link.flush()
    expect(await document()).to.deep.equal({ name: 'one' })
    const two = { path: '/shots/two.view', modified: true }
    link.setDocument(two)
    await link.log('viewer')
    expect(await document()).to.deep.equal(two)
  })

  it('sends what is no number, of which the scene warns', async () => {
    const { link } = await connect()
    link.setScene({ camera: null, objects: [{ id: 'a', x: NaN }, lamp] })
    await link.flush()
    const warningOf = (count: number) => [{ code: 'number_not_finite', count }]
    expect(await scene()).to.deep.equal({
      camera: null,
      objects: [{ id: 'a', x: null }, lamp],
      warnings: warningOf(1),
    })
    link.patchScene({ objects: [{ id: 'a', x: [1, -Infinity, Infinity] }] })
    await link.flush()
    const { objects, warnings } = await scene()
    expect([objects[0].x, warnings]).to.deep.equal([[1, null, null], warningOf(2)])
  })

  it('hands over what it lacks when a client reads the scene', async () => {
    let frame = 1
    const { link } = await connect({ refresh: () => link.setScene({ frame }) })
    link.setScene({ frame })
    await link.flush()
    frame = 2
    expect(await scene()).to.deep.equal({ frame: 2 })
  })

  it('records what was done, and logs events', async () => {
    const { link } = await connect()
    await link.record({ action: 'view.open', actor: 'ada' }, { action: 'view.turn' })
    await link.log('viewer', { source: 'viewer', stream: 'console', message: 'ready' })
    const { entries } = await session.readJson('audit://recent')
    expect(entries.map(({ action }: any) => action)).to.include.members(['view.open', 'view.turn'])
    const { events } = await session.readJson('events://session/viewer')
    expect(events[0]).to.include({ source: 'viewer', message: 'ready' })
    const refused = await rejectionOf(link.record({ action: '' }))
    expect(refused).to.be.instanceOf(HostLinkError).and.to.include({ code: 'invalid' })
  })

  it('gives the picture that an agent looks at', async () => {
    const asked: unknown[] = []
    const { link } = await connect({
      picture(request) {
        asked.push([request.target, request.max_width > 0])
        return { file: Uint8Array.from(pngOf(32, 16)), view: { eye: [0, 0, 6] } }
      },
    })
    link.setScene({ objects: [cube] })
    const { result } = await session.call('tools/call', toolCall('look'))
    expect(result.content.map(({ type }: any) => type)).to.include('image')
    const blob = await session.call('resources/read', { uri: 'capture://viewport' })
    expect(blob.result.contents[0].blob).to.match(/^iVBORw0KGgo/)
    expect(asked).to.deep.equal([
      ['window', true],
      ['viewport', true],
    ])
  })

  it('says why there is no picture', async () => {
    await connect({
      picture: () => Promise.reject(new HostLinkError('minimised', 'the tab is hidden')),
    })
    const { error } = await session.call('resources/read', { uri: 'capture://current_window' })
    expect(error.data.reason).to.equal('minimised')
    await client.link.close()
    await connect({ picture: () => new Blob([]) })
    const empty = await session.call('resources/read', { uri: 'capture://current_window' })
    expect(empty.error.data.reason).to.equal('blank')
  })

  it('makes notes, and is told of those of its document', async () => {
    const seen: unknown[] = []
    const { link } = await connect({
      document: { path: '/shots/notes.view' },
      onNotes: notes => seen.push(notes.map(({ text, state }) => [text, state])),
    })
    link.setScene({ objects: [cube] })
    const { id } = await link.addNote({ text: 'Too dark', author: 'ada', targets: ['cube'] })
    await link.actOnNote(id, 'close', 'ada')
    await until(() => JSON.stringify(seen.at(-1)) === '[["Too dark","closed"]]')
  })

  it('sends all again to a server that was restarted, and asks for its token', async () => {
    const start = (flags: string[]) => serveInProcess({ registryDir, flags })
    let second = await start([])
    const flags = ['--port', String(second.port)]
    let file = second.hostTokenFile ?? ''
    await connect({ url: second.hostUrl, token: () => readFileSync(file, 'utf8') })
    client.link.setScene({ objects: [cube] })
    client.link.patchScene({ objects: [lamp] })
    await second.stop()
    await until(() => client.states.at(-1)?.startsWith('waiting') === true)
    expect(await rejectionOf(client.link.record({ action: 'x' }))).to.include({
      code: 'disconnected',
    })
    client.states.length = 0
    second = await start(flags)
    file = second.hostTokenFile ?? ''
    await client.until('connected')
    await client.link.flush()
    const again = await RawSession.open(second.url)
    expect((await again.readJson('scene://current')).objects).to.deep.equal([cube, lamp])
  })

  it('does not send a scene again that the server refused', async () => {
    const { link } = await connect()
    const deep: any = {}
    let inner = deep
    for (let level = 0; level < 70; level++) inner = inner.in = {}
    link.setScene(deep)
    expect(await rejectionOf(link.flush())).to.include({ code: 'invalid' })
    client.states.length = 0
    await client.until('connected')
    expect(await rejectionOf(link.flush())).to.include({ code: 'invalid' })
    link.setScene({ objects: [lamp] })
    await link.flush()
    expect((await scene()).objects).to.deep.equal([lamp])
  })

  it('ends with a wrong token, and says so', async () => {
    client = new RecordingClient({ url: serve.hostUrl, token: 'wrong' })
    await client.until('ended: auth-refused')
    expect(client.errors[0]).to.match(/token is not the one of this run/)
  })

  it('refuses to begin without a token', () => {
    for (const token of ['', undefined as unknown as string]) {
      expect(() => new HostClient({ token, app: { dcc_type: 'viewer' } })).to.throw(
        TypeError,
        'needs a token',
      )
    }
  })

  it('refuses to begin with no options, or with another address than one of HTTP', () => {
    expect(() => new HostClient(undefined as never)).to.throw(TypeError, 'needs a token')
    for (const url of ['nonsense', 'localhost:8765/host', 'http://']) {
      const options = { url, token: 'token', app: { dcc_type: 'viewer' } }
      expect(() => new HostClient(options)).to.throw(TypeError, `"${url}"`)
    }
  })

  it('waits while another application is connected, and names it', async () => {
    await LinkClient.connect(serve)
    client = new RecordingClient({ url: serve.hostUrl, token: serve.token })
    await client.until('waiting: host_taken')
    expect(client.errors[0]).to.match(/another application is connected: blender/)
  })

  it('waits for a server that is not there', async () => {
    client = new RecordingClient({ url: `http://127.0.0.1:${await freePort()}/host`, token: 'any' })
    await client.until('waiting: unreachable')
    expect(client.errors[0]).to.match(/^no server opens the link at http:/)
  })

  it('does not say that a server is not there which has no place for it', async () => {
    const others = await Promise.all(Array.from({ length: 16 }, () => LinkClient.open(serve)))
    client = new RecordingClient({ url: serve.hostUrl, token: serve.token })
    await client.until('waiting: disconnected')
    expect(client.errors[0]).to.match(/^the server at http:.* did not open the link: it may have/)
    for (const other of others) other.cut()
    await Promise.all(others.map(({ closed }) => closed))
  })

  it('takes its scene with it when the user disconnects', async () => {
    const { link } = await connect()
    link.setScene({ objects: [cube] })
    await link.flush()
    await link.close({ clear: true })
    expect(client.states.at(-1)).to.equal('ended')
    const { result } = await session.call('resources/read', { uri: 'scene://current' })
    expect(JSON.parse(result.contents[0].text).objects).to.equal(undefined)
  })
})
