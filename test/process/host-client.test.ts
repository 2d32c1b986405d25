import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import {
  HostBusy,
  HostClient,
  type HostClientOptions,
  ResourceNotFound,
} from '../../src/host-client.ts'
import { RawSession } from '../helpers/mcp.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { type RunningServe, startServeProcess } from '../helpers/serve-process.ts'
import { until } from '../helpers/until.ts'

const MiB = 1024 * 1024

describe('the client of the host link with a server', () => {
  let registryDir: string
  let serve: RunningServe
  const hosts: HostClient[] = []

  before(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'host-client-'))
    serve = await serveInProcess({ registryDir })
  })
  afterEach(() => Promise.all(hosts.splice(0).map(host => host.stop())))
  after(async () => {
    await serve.stop()
    await rm(registryDir, { recursive: true, force: true })
  })

  async function connect(options: Partial<HostClientOptions> = {}): Promise<HostClient> {
    const host = new HostClient({
      app: { dccType: 'blender', mode: 'gui', version: '4.2', displayName: 'Blender 4.2' },
      registryDir,
      ...options,
    })
    hosts.push(host)
    host.start()
    await host.connected({ timeoutMs: 10_000 })
    return host
  }

  const record = async () =>
    JSON.parse(await readFile(join(registryDir, 'instances', `${serve.instanceId}.json`), 'utf8'))

  it('brings a scene to those who subscribed, records to the audit, events to their buffer', async () => {
    const host = await connect()
    const session = await RawSession.open(serve.url)
    await session.call('resources/subscribe', { uri: 'scene://current' })
    const events = await session.listen()
    host.setScene({ name: 'shot 010', objects: [{ id: 'Cube' }] })
    expect(await host.sceneSettled()).to.be.a('number')
    await events.until(() => events.updates.includes('scene://current'))
    const scene = await session.readJson('scene://current')
    expect(scene).to.deep.include({ name: 'shot 010', objects: [{ id: 'Cube' }] })

    host.record({ action: 'mesh.create', actor: 'ada', params: { size: 2 }, duration_ms: 3 })
    host.openEvents('console', { maxlen: 2 })
    for (const message of ['one', 'two', 'three']) {
      host.log('console', { source: 'blender', stream: 'stdout', level: 'info', message })
    }
    await until(async () => {
      const { entries } = await session.readJson('audit://recent')
      return entries.some((entry: any) => entry.action === 'mesh.create' && entry.actor === 'ada')
    }, 'the audit record')
    await until(async () => {
      const { result } = await session.call('resources/read', { uri: 'events://session/console' })
      if (result === undefined) return false
      const page = JSON.parse(result.contents[0].text)
      const messages = page.events.map(({ message }: any) => message)
      return messages.join() === 'two,three' && page.dropped_count === 1
    }, 'the events, of which the buffer keeps two')
    events.close()
  })

  it('says nothing but the truth in the record of the instance', async () => {
    const host = await connect({ document: { path: '/shots/010.blend' } })
    await until(async () => (await record()).host.connected, 'the connection in the record')
    expect((await record()).host).to.include({ app_pid: process.pid, version: '4.2', mode: 'gui' })
    host.setDocument({ path: '/shots/020.blend', modified: true })
    host.setBusy('rendering')
    await until(async () => {
      const { scene, status } = await record()
      return scene === '/shots/020.blend' && status === 'busy'
    }, 'the document and that it is busy')
    host.setBusy(null)
    await until(async () => (await record()).status === 'available', 'that it is free again')
    await host.stop()
    await until(async () => !(await record()).host.connected, 'that nobody is connected')
  })

  it('answers reads of its producers, and tells of changes', async () => {
    const host = await connect()
    const names = ['Cube']
    const uriOf = (name: string) => `blender-object://${name}`
    const producer = host.addProducer({
      scheme: 'blender-object',
      list: () => names.map(name => ({ uri: uriOf(name), name, mimeType: 'application/json' })),
      templates: () => [{ uriTemplate: 'blender-object://{name}', name: 'One object' }],
      async read(uri) {
        if (uri === uriOf('Dialog')) throw new HostBusy()
        const { hostname } = new URL(uri)
        if (!names.some(name => name.toLowerCase() === hostname.toLowerCase())) {
          throw new ResourceNotFound(uri)
        }
        return [{ uri, mimeType: 'application/json', text: `{"vertices":8}` }]
      },
    })
    const session = await RawSession.open(serve.url)
    const listed = async () => {
      const { result } = await session.call('resources/list')
      return result.resources.map(({ uri }: { uri: string }) => uri)
    }
    await until(async () => (await listed()).includes(uriOf('Cube')), 'the producer')
    const read = (uri: string) => session.call('resources/read', { uri })
    const uri = `${uriOf('Cube')}?detail=full`
    expect((await read(uri)).result.contents).to.deep.equal([
      { uri, mimeType: 'application/json', text: '{"vertices":8}' },
    ])
    expect((await read(uriOf('Lamp'))).error.code).to.equal(-32002)
    expect((await read(uriOf('Dialog'))).error).to.deep.include({ code: -32603 })
    expect((await read(uriOf('Dialog'))).error.data).to.include({ reason: 'host_busy' })

    await session.call('resources/subscribe', { uri: uriOf('Cube') })
    const events = await session.listen()
    producer.updated(uriOf('Cube'))
    await events.until(() => events.updates.includes(uriOf('Cube')))
    names.push('Lamp')
    producer.listChanged()
    await until(async () => (await listed()).includes(uriOf('Lamp')), 'the changed list')
    events.close()
    await host.stop()
    await until(async () => !(await listed()).includes(uriOf('Cube')), 'the end of the producer')
  })

  it('stores artefacts of any size, and goes on after one that broke off or was refused', async () => {
    const host = await connect()
    const { lastError } = host.status
    const path = join(registryDir, 'still.bin')
    await writeFile(path, Buffer.alloc(20 * MiB, 'pixel'))
    async function* breaking() {
      yield Buffer.alloc(1 * MiB)
      throw new Error('the disk is gone')
    }
    const mime = 'application/octet-stream'
    const wrong = 'f'.repeat(64)
    const broken = host.putArtefact({ size: 9 * MiB, stream: breaking() }, { mime })
    const refused = host.putArtefact(path, { mime: 'not a type' })
    const other = host.putArtefact(Buffer.from('x'), { mime, sha256: wrong })
    const stored = host.putArtefact(path, { mime, displayName: 'still.bin', jobId: 'j1' })
    const again = host.putArtefact(path, { mime })
    const empty = host.putArtefact(new Uint8Array(), { mime })
    expect(await broken.catch(error => error.message)).to.equal('the disk is gone')
    expect(await refused.catch(error => error.name)).to.equal('TypeError')
    expect(await other.catch(error => error.code)).to.equal('mismatch')
    const { uri, sha256, existed } = await stored
    expect([uri, existed]).to.deep.equal([`artefact://sha256/${sha256}`, false])
    expect(await again).to.deep.equal({ uri, sha256, existed: true })
    expect((await empty).existed).to.equal(false)
    const bytes = await fetch(`${serve.base}/artefacts/sha256/${sha256}`)
    expect((await bytes.arrayBuffer()).byteLength).to.equal(20 * MiB)
    expect(host.status).to.include({ state: 'connected', lastError })
  })

  it('gives way to a newer connection of the same run, and waits for another application', async () => {
    const url = serve.hostUrl
    const { token } = serve
    const app = { dccType: 'blender', mode: 'gui' } as const
    const older = await connect({ url, token, app, instanceId: 'run-1' })
    const newer = await connect({ url, token, app, instanceId: 'run-1' })
    await until(() => older.status.state === 'refused', 'the end of the older connection')
    const other = new HostClient({ url, token, app, instanceId: 'run-2' })
    hosts.push(other)
    other.start()
    await until(() => other.status.state === 'waiting', 'the pause')
    expect(other.status.text).to.match(/another application is connected/)
    expect(newer.status.state).to.equal('connected')
  })

  it('is refused for good with a wrong token that was given to it', async () => {
    const host = new HostClient({
      url: serve.hostUrl,
      token: 'wrong',
      app: { dccType: 'blender', mode: 'gui' },
    })
    hosts.push(host)
    host.start()
    const code = host.connected({ timeoutMs: 10_000 }).catch(error => error.code)
    expect(await code).to.equal('refused')
  })

  it('finds a server that is started anew, and tells it everything', async () => {
    const host = await connect()
    host.setScene({ frame: 1 })
    host.addProducer({ scheme: 'memo', list: () => [], read: uri => [{ uri, text: 'hello' }] })
    await host.sceneSettled()
    await serve.stop()
    await until(() => host.status.state !== 'connected', 'the loss of the link')
    host.setScene({ frame: 2 })
    serve = await serveInProcess({ registryDir })
    await host.sceneSettled()
    const session = await RawSession.open(serve.url)
    expect(await session.readJson('scene://current')).to.deep.include({ frame: 2 })
    await until(async () => {
      const { result } = await session.call('resources/read', { uri: 'memo://1' })
      return result?.contents[0].text === 'hello'
    }, 'the producer')
  })

  it('outlives a server that is frozen for a while, and shows the newest scene then', async () => {
    await serve.stop()
    const program = await startServeProcess({ registryDir })
    serve = program
    const host = await connect()
    program.signal('SIGSTOP')
    const objects = Array.from({ length: 500 }, (_, id) => ({ id: `Cube.${id}` }))
    for (let frame = 1; frame <= 200; frame++) {
      host.setScene({ frame, objects })
      await delay(5)
    }
    program.signal('SIGCONT')
    await host.sceneSettled()
    const session = await RawSession.open(serve.url)
    expect((await session.readJson('scene://current')).frame).to.equal(200)
    expect(host.status.state).to.equal('connected')
  })
})
