import { expect } from 'chai'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import net from 'node:net'
import tls from 'node:tls'
import { join } from 'node:path'
import { newFolder } from '../../helpers/cleanup.ts'
import { makePair, trust, writePair } from '../../helpers/certificate.ts'
import { gatewayInProcess, serveInProcess } from '../../helpers/in-process-servers.ts'
import { LinkClient } from '../../helpers/link.ts'
import { RawSession } from '../../helpers/mcp.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { until } from '../../helpers/until.ts'

const scene = 'scene://current'

describe('TLS', () => {
  let folder: string
  let flags: string[]
  let serve: RunningServe

  before(async () => {
    folder = newFolder()
    const pair = makePair()
    const { certFile, keyFile } = await writePair(folder, pair)
    trust(pair)
    flags = ['--tls-cert', certFile, '--tls-key', keyFile]
    serve = await serveInProcess({ registryDir: folder, flags })
  })

  it('is in the address for clients, and not in that for the application beside', async () => {
    const { url, hostUrl, instanceId } = serve
    expect(url).to.match(/^https:\/\/127\.0\.0\.1:\d+\/mcp$/)
    expect(hostUrl).to.match(/^http:\/\/127\.0\.0\.1:\d+\/host$/)
    expect(new URL(url).port).not.to.equal(new URL(hostUrl).port)
    const record = await readFile(join(folder, 'instances', `${instanceId}.json`), 'utf8')
    expect(JSON.parse(record)).to.include({ mcp_url: url, host_url: hostUrl })
  })

  it('carries an event stream', async () => {
    const session = await RawSession.open(serve.url)
    await session.call('resources/subscribe', { uri: scene })
    const events = await session.listen()
    await serve.post('scene', { objects: ['Cube'] })
    await events.until(() => events.updates.length === 1)
    expect(await session.readJson(scene)).to.deep.equal({ objects: ['Cube'] })
  })

  it('leaves the host link and /mcp where programs of this machine look for them', async () => {
    const app = await LinkClient.connect(serve)
    await app.done({ type: 'scene.set', scene: { from: 'the host link' } })
    const session = await RawSession.open(new URL('/mcp', serve.hostUrl).href)
    expect(await session.readJson(scene)).to.include({ from: 'the host link' })
  })

  it('of a gateway: it lists instances, and says who holds its port', async () => {
    const gateway = gatewayInProcess({ port: 0, registryDir: folder, flags })
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

  it('holds no stop up, idle or in its handshake', async () => {
    const where = { host: '127.0.0.1', port: Number(new URL(serve.url).port) }
    const idle = tls.connect({ ...where, rejectUnauthorized: false })
    const shaking = net.connect(where)
    await Promise.all([once(idle, 'secureConnect'), once(shaking, 'connect')])
    // The server has taken both connections once it has answered on a third.
    await fetch(new URL('/healthz', serve.hostUrl))
    const closed = [idle, shaking].map(socket =>
      once(
        socket.resume().on('error', () => {}),
        'close',
      ),
    )
    await Promise.all([...closed, serve.stop()])
  })
})
