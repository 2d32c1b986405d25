import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import * as v2 from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { startGateway } from '../../../src/server/gateway.ts'
import { startAccountsServer } from '../../../src/server/accounts-server.ts'
import type { Sdk, StatelessClient } from '../../clients/client-face.ts'
import { type Prepared, prepare, runScenario } from '../../clients/scenario.ts'
import { startServe } from '../../clients/serve.ts'
import { runStatelessScenario } from '../../clients/stateless-scenario.ts'
import { makePair, writePair } from '../../helpers/certificate.ts'
import { LinkClient } from '../../helpers/link.ts'
import { ask, RawSession } from '../../helpers/mcp.ts'
import { until } from '../../helpers/until.ts'

const info = { name: 'tls', version: '1' }
const { Client, StreamableHTTPClientTransport } = v2 as unknown as Sdk

describe('TLS', () => {
  let folder: string
  let files: { certFile: string; keyFile: string }
  let prepared: Prepared
  let trusted: string[]

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'e2e-tls-'))
    const pair = makePair()
    files = await writePair(folder, pair)
    trusted = tls.getCACertificates('default')
    tls.setDefaultCACertificates([...trusted, pair.cert])
    const flags = ['--tls-cert', files.certFile, '--tls-key', files.keyFile]
    prepared = await prepare(await startServe(folder, flags))
  })
  after(async () => {
    tls.setDefaultCACertificates(trusted)
    const code = await prepared?.serving.stop()
    await rm(folder, { recursive: true, force: true })
    expect(code).to.equal(0)
  })

  it('is in the address for clients, and not in that for the application beside', async () => {
    const { url, host_url, instance_id } = prepared.serving
    expect(url).to.match(/^https:\/\/127\.0\.0\.1:\d+\/mcp$/)
    expect(host_url).to.match(/^http:\/\/127\.0\.0\.1:\d+\/host$/)
    expect(new URL(url).port).not.to.equal(new URL(host_url).port)
    const record = JSON.parse(
      await readFile(join(folder, 'instances', `${instance_id}.json`), 'utf8'),
    )
    expect(record).to.include({ mcp_url: url, host_url })
  })

  it('carries all that SDK v2 does, with sessions', async () => {
    const open = (url: URL) => ({
      client: new Client(info),
      transport: new StreamableHTTPClientTransport(url),
    })
    await runScenario(prepared, open, { revision: '2025-11-25' })
  })

  it('carries all that SDK v2 does without sessions, subscriptions/listen included', async () => {
    await runStatelessScenario(prepared, url => ({
      client: new Client(info, { versionNegotiation: { mode: 'auto' } }) as StatelessClient,
      transport: new StreamableHTTPClientTransport(url),
    }))
  })

  it('carries a burst of updates on many streams at once', async () => {
    const { serving } = prepared
    const sessions = await Promise.all(
      Array.from({ length: 10 }, () => RawSession.open(serving.url)),
    )
    const streams = await Promise.all(sessions.map(session => session.listen()))
    for (const session of sessions) {
      await session.call('resources/subscribe', { uri: 'scene://current' })
      await session.call('resources/subscribe', { uri: 'audit://recent' })
    }
    for (let round = 0; round < 20; round++) {
      await serving.post('scene', { round })
      await serving.post('audit', { records: [{ action: `round ${round}` }] })
    }
    for (const stream of streams) {
      await stream.until(() => stream.updates.length >= 40, 'all updates')
      stream.close()
    }
  })

  it('carries ranges of an artefact, and all of it', async () => {
    const { serving } = prepared
    const bytes = randomBytes(3_000_001)
    const { sha256 } = await serving.upload(bytes, 'application/octet-stream', 'x.bin')
    const url = new URL(`/artefacts/sha256/${sha256}`, serving.url)
    const part = await fetch(url, { headers: { Range: 'bytes=1000000-2999999' } })
    expect(part.status).to.equal(206)
    const whole = await fetch(url)
    expect(hash(await part.arrayBuffer())).to.equal(hash(bytes.subarray(1_000_000, 3_000_000)))
    expect(hash(await whole.arrayBuffer())).to.equal(sha256)
  })

  it('leaves the host link of an application alone', async () => {
    const { url, host_url: hostUrl, host_token_file: tokenFile } = prepared.serving
    const token = (await readFile(tokenFile, 'utf8')).trim()
    const app = await LinkClient.connect({ hostUrl, token })
    await app.done({ type: 'scene.set', scene: { from: 'the host link' } })
    const session = await RawSession.open(url)
    expect(await session.readJson('scene://current')).to.include({ from: 'the host link' })
    await app.bye()
  })

  it('leaves /mcp where programs of this machine look for it', async () => {
    const session = await RawSession.open(new URL('/mcp', prepared.serving.host_url).href)
    expect(await session.readJson('scene://current')).to.be.an('object')
  })

  it('of the gateway: it shows instances, asks them, and another one stands by behind it', async () => {
    const options = {
      host: '127.0.0.1',
      allowedHosts: [],
      allowedOrigins: [],
      registryDir: folder,
      log: silentLogger,
      accessLog: () => {},
    }
    const gateway = await startGateway({ ...options, port: 0, standby: false, tls: files })
    try {
      expect(gateway.url).to.match(/^https:/)
      const session = await RawSession.open(gateway.url)
      const { instances } = await session.readJson('gateway://instances')
      expect(instances.map((row: any) => row.mcp_url)).to.include(prepared.serving.url)
      await until(async () => {
        const { instances: rows } = await session.readJson('gateway://diagnostics/process')
        return rows.some((row: any) => row.diagnostics.probed_at !== null)
      }, 'the instance was asked')
      // One without TLS sees who it is, too.
      const failure: unknown = await startGateway({
        ...options,
        port: gateway.port,
        standby: false,
      }).catch((error: unknown) => error)
      expect(String(failure)).to.match(/is held by the gateway of process/)
    } finally {
      await gateway.stop()
    }
  })

  it('of the registry: its accounts are at https', async () => {
    const registry = await startAccountsServer({
      port: 0,
      host: '127.0.0.1',
      allowedHosts: [],
      allowedOrigins: [],
      tls: files,
      dataDir: join(folder, 'registry'),
      log: silentLogger,
      accessLog: () => {},
    })
    try {
      expect(registry.url).to.match(/^https:/)
      expect((await ask(`${registry.url}/readyz`)).status).to.equal(200)
    } finally {
      await registry.stop()
    }
  })

  it('takes a renewed certificate without a restart', async () => {
    const { serving } = prepared
    const { port } = new URL(serving.url)
    await writePair(folder, makePair({ names: ['renewed.example'] }))
    await until(() => {
      const socket = tls.connect({
        port: Number(port),
        host: '127.0.0.1',
        rejectUnauthorized: false,
      })
      return new Promise<boolean>((resolve, reject) => {
        socket.once('error', reject)
        socket.once('secureConnect', () => {
          resolve(socket.getPeerX509Certificate()?.subject === 'CN=renewed.example')
          socket.destroy()
        })
      })
    }, 'the new certificate')
    await until(() => serving.log().includes('the certificate was replaced'), 'a line in the log')
  })
})

function hash(bytes: ArrayBuffer | Uint8Array): string {
  return createHash('sha256').update(new Uint8Array(bytes)).digest('hex')
}
