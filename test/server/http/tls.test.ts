import { expect } from 'chai'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import * as v2 from '@modelcontextprotocol/client'
import { type Sdk, type StatelessClient, Updates } from '../../clients/client-face.ts'
import { readJson } from '../../clients/scenario.ts'
import { makePair, writePair } from '../../helpers/certificate.ts'
import {
  accountsInProcess,
  gatewayInProcess,
  serveInProcess,
} from '../../helpers/in-process-servers.ts'
import { LinkClient } from '../../helpers/link.ts'
import { ask, RawSession } from '../../helpers/mcp.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { until } from '../../helpers/until.ts'

const scene = 'scene://current'

describe('TLS', () => {
  let folder: string
  let flags: string[]
  let serve: RunningServe
  let trusted: string[]

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tls-'))
    const pair = makePair()
    const { certFile, keyFile } = await writePair(folder, pair)
    trusted = tls.getCACertificates('default')
    tls.setDefaultCACertificates([...trusted, pair.cert])
    flags = ['--tls-cert', certFile, '--tls-key', keyFile]
    serve = await serveInProcess({ registryDir: folder, flags: ['--bound=tlsPollMs=50', ...flags] })
  })
  after(async () => {
    tls.setDefaultCACertificates(trusted)
    await serve?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it('is in the address for clients, and not in that for the application beside', async () => {
    const { url, hostUrl, instanceId } = serve
    expect(url).to.match(/^https:\/\/127\.0\.0\.1:\d+\/mcp$/)
    expect(hostUrl).to.match(/^http:\/\/127\.0\.0\.1:\d+\/host$/)
    expect(new URL(url).port).not.to.equal(new URL(hostUrl).port)
    const record = await readFile(join(folder, 'instances', `${instanceId}.json`), 'utf8')
    expect(JSON.parse(record)).to.include({ mcp_url: url, host_url: hostUrl })
  })

  it('carries what SDK v2 does without a session, subscriptions/listen included', async () => {
    const { Client, StreamableHTTPClientTransport } = v2 as unknown as Sdk
    const options = { versionNegotiation: { mode: 'auto' } }
    const client = new Client({ name: 'tls', version: '1' }, options) as StatelessClient
    const updates = new Updates(client)
    await client.connect(new StreamableHTTPClientTransport(new URL(serve.url)))
    expect(client.getProtocolEra()).to.equal('modern')
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).to.include(scene)
    await client.listen({ resourceSubscriptions: [scene] })
    await serve.post('scene', { objects: ['Cube'] })
    await updates.until(scene, 1)
    expect((await readJson(client, scene)).objects).to.deep.equal(['Cube'])
    await client.close()
  })

  it('carries a burst of updates on the streams of many sessions', async () => {
    const sessions = await Promise.all(Array.from({ length: 10 }, () => RawSession.open(serve.url)))
    const streams = await Promise.all(sessions.map(session => session.listen()))
    for (const session of sessions) {
      await session.call('resources/subscribe', { uri: scene })
      await session.call('resources/subscribe', { uri: 'audit://recent' })
    }
    for (let round = 0; round < 20; round++) {
      await serve.post('scene', { round })
      await serve.post('audit', { records: [{ action: `round ${round}` }] })
    }
    for (const stream of streams) {
      await stream.until(() => stream.updates.length >= 40, 'all updates')
      stream.close()
    }
  })

  it('carries ranges of an artefact, and all of it', async () => {
    const bytes = randomBytes(3_000_001)
    const sha256 = await serve.store(bytes)
    const url = new URL(`/artefacts/sha256/${sha256}`, serve.url)
    const part = await fetch(url, { headers: { Range: 'bytes=1000000-2999999' } })
    expect(part.status).to.equal(206)
    const whole = await fetch(url)
    expect(hash(await part.arrayBuffer())).to.equal(hash(bytes.subarray(1_000_000, 3_000_000)))
    expect(hash(await whole.arrayBuffer())).to.equal(sha256)
  })

  it('leaves the host link and /mcp where programs of this machine look for them', async () => {
    const app = await LinkClient.connect(serve)
    await app.done({ type: 'scene.set', scene: { from: 'the host link' } })
    const session = await RawSession.open(new URL('/mcp', serve.hostUrl).href)
    expect(await session.readJson(scene)).to.include({ from: 'the host link' })
    await app.bye()
  })

  it('of a gateway: it lists instances, and says who holds its port', async () => {
    const gateway = gatewayInProcess({ port: 0, registryDir: folder, flags })
    try {
      const { url } = await gateway.line('listening')
      expect(url).to.match(/^https:/)
      const session = await RawSession.open(url)
      const { instances } = await session.readJson('gateway://instances')
      expect(instances.map((row: any) => row.mcp_url)).to.include(serve.url)
      // One without TLS sees who it is, too.
      const port = Number(new URL(url).port)
      const other = gatewayInProcess({ port, registryDir: folder, flags: ['--no-standby'] })
      const failure: unknown = await other.line('listening').catch((error: unknown) => error)
      expect(String(failure)).to.match(/is held by the gateway of process/)
      await other.stop()
    } finally {
      await gateway.stop()
    }
  })

  it('of the accounts server: it is at https', async () => {
    const accounts = await accountsInProcess({ flags })
    try {
      expect(accounts.url).to.match(/^https:/)
      expect((await ask(`${accounts.url}/readyz`)).status).to.equal(200)
    } finally {
      await accounts.stop()
    }
  })

  it('takes a renewed certificate without a restart', async () => {
    await writePair(folder, makePair({ names: ['renewed.example'] }))
    const subject = () => {
      const where = { host: '127.0.0.1', port: Number(new URL(serve.url).port) }
      const socket = tls.connect({ ...where, rejectUnauthorized: false })
      return new Promise<string | undefined>((resolve, reject) => {
        socket.once('error', reject)
        socket.once('secureConnect', () => {
          resolve(socket.getPeerX509Certificate()?.subject)
          socket.destroy()
        })
      })
    }
    await until(async () => (await subject()) === 'CN=renewed.example', 'the new certificate')
    await until(() => serve.output().stderr.includes('the certificate was replaced'), 'the log')
  })
})

function hash(bytes: ArrayBuffer | Uint8Array): string {
  return createHash('sha256').update(new Uint8Array(bytes)).digest('hex')
}
