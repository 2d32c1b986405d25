import { expect } from 'chai'
import { readFile } from 'node:fs/promises'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import type { ServeHandle, ServeOptions } from '../../../src/server/host/serve-options.ts'
import { startServe } from '../../../src/server/serve.ts'
import { atEnd, newFolder } from '../../helpers/cleanup.ts'
import { until } from '../../helpers/until.ts'
import { LinkClient } from '../../helpers/link.ts'
import { MemoryBackend } from '../../helpers/pictures.ts'
import { RawSession } from '../../helpers/mcp.ts'
import { skipBecause } from '../../helpers/skip.ts'

const uri = 'capture://current_window'

describe('the window of the application that is linked to serve', () => {
  let folder: string
  let backend: MemoryBackend
  let handle: ServeHandle
  beforeEach(() => {
    folder = newFolder()
    backend = new MemoryBackend()
  })

  async function start(options: Partial<ServeOptions> = {}): Promise<RawSession> {
    handle = await startServe({
      port: 0,
      host: '127.0.0.1',
      allowedHosts: [],
      allowedOrigins: [],
      dccType: 'unknown',
      registryDir: folder,
      artefacts: false,
      resources: true,
      accessLog: () => {},
      log: silentLogger,
      capture: { mode: 'auto', backends: [backend] },
      ...options,
    })
    atEnd(() => handle.stop())
    return RawSession.open(handle.url)
  }

  async function link(app: object, members: object = {}): Promise<LinkClient> {
    const token = await readFile(handle.hostTokenFile ?? '', 'utf8')
    const { hostUrl } = handle
    return LinkClient.connect(
      { hostUrl, token },
      { app: { dcc_type: 'blender', ...app }, ...members },
    )
  }

  async function isListed(session: RawSession): Promise<boolean> {
    const { result } = await session.call('resources/list')
    return result.resources.some((each: { uri: string }) => each.uri === uri)
  }

  it('comes with the application, is captured by its process, and goes with it', async () => {
    const session = await start()
    await handle.capture?.probe()
    expect(await isListed(session)).to.equal(false)
    const before = await session.call('resources/read', { uri })
    expect(before.error.code).to.equal(-32002)
    expect(before.error.data.hint).to.contain('--capture-title')
    const app = await link({ pid: process.pid, mode: 'gui' })
    await until(() => isListed(session), 'the window in the list')
    const { result } = await session.call('resources/read', { uri })
    expect(result.contents[0]).to.include({ mimeType: 'image/png' })
    expect(backend.takings[0]?.target).to.deep.equal({ pid: process.pid, title: null })
    app.ws.close()
    await until(async () => !(await isListed(session)), 'the list without it')
    const after = await session.call('resources/read', { uri })
    expect(after.error.code).to.equal(-32002)
    expect(backend.takings).to.have.length(1)
  })

  it('is not that of a local process with the id of a remote application', async function () {
    if (process.platform !== 'linux') skipBecause(this, 'no process can have the id on Linux alone')
    const session = await start()
    // No process has such an id.
    const app = await link({ pid: 4_194_305, mode: 'gui' })
    const { error } = await session.call('resources/read', { uri })
    expect(error.data.hint).to.contain('4194305').and.contain('--capture-title')
    app.ws.close()
  })

  it('does not exist for one that runs in the background, until it has a window', async () => {
    const session = await start()
    const app = await link({ pid: process.pid, mode: 'background' })
    const { error } = await session.call('resources/read', { uri })
    expect(error.data.hint).to.contain('background')
    app.say({ type: 'app.update', mode: 'gui' })
    await until(() => isListed(session), 'the window in the list')
  })

  it('stays hidden once the person said no, also when the link is lost and by its title', async () => {
    const session = await start({ capture: { mode: 'auto', title: 'any', backends: [backend] } })
    await until(() => isListed(session), 'the window in the list')
    const said = { mode: 'gui', pid: process.pid }
    const app = await link(said, { capture: { denied: true } })
    await until(async () => !(await isListed(session)), 'the list without it')
    app.ws.close()
    await app.closed
    const { error } = await session.call('resources/read', { uri })
    expect(error.data.hint).to.contain('shares no picture')
    expect(await isListed(session)).to.equal(false)
    const again = await link(said)
    await until(() => isListed(session), 'the window in the list')
    await again.done({ type: 'app.update', capture: { denied: true } })
    await until(async () => !(await isListed(session)), 'its going')
  })

  it('is not probed when capture is off, or resources are', async () => {
    const capture = { backends: [backend], title: 'a' }
    const session = await start({ capture: { ...capture, mode: 'off' } })
    expect((await session.call('resources/read', { uri })).error.code).to.equal(-32002)
    expect(handle.capture).to.equal(null)
    await handle.stop()
    const bare = await start({ resources: false, capture: { ...capture, mode: 'auto' } })
    expect((await bare.call('resources/read', { uri })).error.code).to.equal(-32601)
    expect(handle.capture).to.equal(null)
    expect(backend.probed).to.deep.equal([])
  })
})
