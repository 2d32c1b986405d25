import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { newFolder } from '../helpers/cleanup.ts'
import { LinkClient } from '../helpers/link.ts'
import { RawSession } from '../helpers/mcp.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { type RunningServe, startServeProcess } from '../helpers/serve-process.ts'
import { expectHealthy, recordOf } from '../server/host/link-health.ts'
import { until } from '../helpers/until.ts'

describe('a server that ends and is started again', () => {
  let registryDir: string
  let serve: RunningServe

  beforeEach(() => (registryDir = newFolder()))

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
    await app.done({ type: 'scene.set', scene: { kept: 'by the app' } })
    const resources = [{ uri: 'restart://a', name: 'a' }]
    await app.done({ type: 'producer.register', scheme: 'restart', resources })
    app.answer = ({ uri }) => ({ contents: [{ uri, text: '"asked"' }] })
  }

  it('is told everything anew after kill -9, and the old record stays readable', async () => {
    const old = await startServeProcess({ registryDir })
    serve = old
    const app = await LinkClient.connect(serve)
    await tellAll(app)
    await until(async () => (await recordOf(serve)).host.connected, 'the record says so')
    old.signal('SIGKILL')
    expect(await app.closed).to.include({ code: 1006 })

    const again = reconnect()
    serve = await serveInProcess({ registryDir, flags: ['--port', String(old.port)] })
    const newer = await again
    expect(newer.welcome).to.include({ need_scene: true })
    await tellAll(newer)
    const files = await readdir(join(registryDir, 'instances'))
    // One that is just being written may stand beside them.
    const kept = files.filter(file => !file.endsWith('.tmp'))
    // The old ones stay for a while, for clients that ask what became of that instance.
    const ends = ['json', 'owner', 'token']
    const both = [old, serve].flatMap(({ instanceId: id }) => ends.map(end => `${id}.${end}`))
    expect(kept.sort()).to.deep.equal(both.sort())
    const session = await RawSession.open(serve.url)
    expect(await session.readJson('scene://current')).to.deep.equal({ kept: 'by the app' })
    expect(await session.readJson('restart://a')).to.equal('asked')
    const { hostUrl } = serve
    const refused = await LinkClient.connect({ hostUrl, token: old.token }).catch(String)
    expect(refused, 'the token of the run before').to.contain('401')
    await newer.bye()
  })

  it('leaves nothing of an upload after SIGTERM, and works', async () => {
    const program = await startServeProcess({ registryDir, flags: ['--bound=stopGraceMs=60000'] })
    serve = program
    const app = await LinkClient.connect(serve)
    app.say({ type: 'artefact.put', id: 'a', mime: 'image/png', size: 1024 * 1024 })
    app.ws.send(randomBytes(64 * 1024))
    const store = join(registryDir, 'dcc-mcp-artefacts')
    const hasBegun = () => program.openFiles().some(path => path.startsWith(store))
    await until(hasBegun, 'the upload has begun')
    program.signal('SIGTERM')
    // The program exits with 1 when a stop takes longer than it may.
    const { code, signal, stderr } = await program.exited
    expect({ code, signal }, stderr).to.deep.equal({ code: 0, signal: null })
    expect(stderr).not.to.match(/"level":"error"|\n\s+at /)
    expect(await readdir(join(registryDir, 'instances'))).to.deep.equal([])
    serve = await serveInProcess({ registryDir })
    await expectHealthy(serve)
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
