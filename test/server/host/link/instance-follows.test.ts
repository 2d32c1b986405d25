import { expect } from 'chai'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { silentLogger } from '../../../../src/lib/util/logger.ts'
import type { InstanceRecord } from '../../../../src/lib/instances/record.ts'
import type { ServeHandle } from '../../../../src/server/host/serve-options.ts'
import { startServe } from '../../../../src/server/serve.ts'
import { Peer, hello } from './link-server.ts'

describe('the instance record of a running server', () => {
  let folder: string
  let handle: ServeHandle
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'follows-'))
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
    })
  })
  afterEach(async () => {
    await handle.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function connect(): Promise<Peer> {
    const token = await readFile(handle.hostTokenFile ?? '', 'utf8')
    const headers = { Authorization: `Bearer ${token}` }
    const ws = new WebSocket(handle.hostUrl.replace('http', 'ws'), 'dcc-host.v1', { headers })
    const peer = new Peer(ws)
    await once(ws, 'open')
    return peer
  }

  /** The record once it holds, or as it is after a while. */
  async function record(holds: (record: InstanceRecord) => boolean): Promise<InstanceRecord> {
    const path = join(folder, 'instances', `${handle.instanceId}.json`)
    for (let look = 0; ; look++) {
      const found = JSON.parse(await readFile(path, 'utf8')) as InstanceRecord
      if (holds(found) || look === 200) return found
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }

  it('follows the application as it comes, opens a document, works and goes', async () => {
    expect((await record(() => true)).host.connected).to.equal(false)
    const peer = await connect()
    peer.send(hello('run-1', { document: { path: '/a.blend' } }))
    const there = await record(({ host }) => host.connected)
    const { since } = there.host
    expect(since).to.be.a('string')
    expect(there).to.deep.include({
      dcc_type: 'blender',
      display_name: `blender on ${hostname()}`,
      host: { connected: true, app_pid: 4711, version: '3.4.1', mode: 'gui', since },
      scene: '/a.blend',
      status: 'available',
    })
    peer.send({ type: 'app.update', document: { path: '/b.blend' } })
    peer.send({ type: 'heartbeat', main_idle_ms: 0, busy: 'rendering' })
    expect(await record(({ status }) => status === 'busy')).to.include({ scene: '/b.blend' })
    peer.send({ type: 'bye' })
    const gone = await record(({ host }) => !host.connected)
    expect(gone.host.since).to.be.a('string').and.not.equal(since)
    const nobody = { connected: false, app_pid: null, version: null, mode: null }
    expect(gone).to.deep.include({
      dcc_type: 'blender',
      host: { ...nobody, since: gone.host.since },
      status: 'available',
    })
  })

  it('is gone with the server, and the application is told', async () => {
    const peer = await connect()
    peer.send(hello())
    await record(({ host }) => host.connected)
    await handle.stop()
    expect((await peer.closed).code).to.equal(1001)
    expect(peer.received.at(-1)).to.include({ type: 'shutdown' })
  })
})
