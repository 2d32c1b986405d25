import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { LinkClient } from '../helpers/link.ts'
import { RawSession } from '../helpers/mcp.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { type RunningServe, startServeProcess } from '../helpers/serve-process.ts'
import { expectHealthy, recordOf } from './host-link-health.ts'
import { until } from '../helpers/until.ts'

describe('a server that ends and is started again', () => {
  let registryDir: string
  let serve: RunningServe

  beforeEach(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'link-restart-'))
  })

  afterEach(async () => {
    await serve.stop()
    await rm(registryDir, { recursive: true, force: true })
  })

  /** As an application does: by the newest record, again and again. */
  async function reconnect(): Promise<LinkClient> {
    const found: LinkClient[] = []
    await until(async () => {
      const address = await findServe(registryDir).catch(() => null)
      if (address === null) return false
      const client = await LinkClient.connect(address).catch(() => null)
      if (client !== null) found.push(client)
      return client !== null
    }, 'the application is connected again')
    return found[0] as LinkClient
  }

  async function tellAll(app: LinkClient): Promise<void> {
    if (app.welcome.need_scene) await app.done({ type: 'scene.set', scene: { kept: 'by the app' } })
    const resources = [{ uri: 'restart://a', name: 'a' }]
    await app.done({ type: 'producer.register', scheme: 'restart', resources })
    app.answer = ({ uri }) => ({ contents: [{ uri, text: '"asked"' }] })
  }

  for (const wherever of ['the same port', 'another port']) {
    it(`on ${wherever} after kill -9 is told everything anew, and the old record stays readable`, async () => {
      const old = await startServeProcess({ registryDir })
      serve = old
      const app = await LinkClient.connect(serve)
      expect(app.welcome.need_scene).to.equal(true)
      await tellAll(app)
      await until(async () => (await recordOf(serve)).host.connected, 'the record says so')
      old.signal('SIGKILL')
      expect(await app.closed).to.include({ code: 1006 })
      expect(await readdir(join(registryDir, 'instances'))).to.include(`${old.instanceId}.json`)

      const again = reconnect()
      const port = wherever === 'the same port' ? ['--port', String(old.port)] : []
      serve = await serveInProcess({ registryDir, flags: port })
      if (port.length > 0) expect(serve.port).to.equal(old.port)
      const newer = await again
      expect(newer.welcome).to.include({ need_scene: true })
      expect(newer.welcome.session).not.to.equal(app.welcome.session)
      await tellAll(newer)
      const files = await readdir(join(registryDir, 'instances'))
      // One that is just being written may stand beside them.
      const kept = files.filter(file => !file.endsWith('.tmp'))
      // The old ones stay for a while, for those who ask what became of that instance.
      const both = [old, serve].flatMap(({ instanceId: id }) => [`${id}.json`, `${id}.token`])
      expect(kept.sort()).to.deep.equal(both.sort())
      const session = await RawSession.open(serve.url)
      expect(await session.readJson('scene://current')).to.deep.equal({ kept: 'by the app' })
      expect(await session.readJson('restart://a')).to.equal('asked')
      await newer.bye()
      await expectHealthy(serve)
    })
  }

  it('lets nobody in with the token of the run before', async () => {
    const { port, token, stop } = await serveInProcess({ registryDir })
    await stop()
    serve = await serveInProcess({ registryDir, flags: ['--port', String(port)] })
    const refused = await LinkClient.connect({ hostUrl: serve.hostUrl, token }).catch(String)
    expect(refused).to.contain('401')
    await expectHealthy(serve)
  })

  it('has nothing to say that is needed when it knows the scene', async () => {
    serve = await serveInProcess({ registryDir })
    const app = await LinkClient.connect(serve)
    await tellAll(app)
    app.cut()
    const again = await LinkClient.connect(serve, { scene_refresh: true })
    expect(again.welcome.need_scene).to.equal(false)
    await again.bye()
  })
})

/** The first record whose server answers for itself; `docs/host-link.md`, "Address and token". */
async function findServe(registryDir: string): Promise<{ hostUrl: string; token: string }> {
  const folder = join(registryDir, 'instances')
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.json')) continue
    const record = JSON.parse(await readFile(join(folder, file), 'utf8'))
    if (record.host.connected) continue
    const token = await readFile(record.host_token_file, 'utf8')
    return { hostUrl: record.host_url, token }
  }
  throw new Error('no server is running')
}
