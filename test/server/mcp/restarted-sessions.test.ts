import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { newFolder } from '../../helpers/cleanup.ts'
import { freePort } from '../../helpers/free-port.ts'
import { gatewayInProcess, serveInProcess } from '../../helpers/in-process-servers.ts'
import { RawSession, rpc } from '../../helpers/mcp.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const scene = 'scene://current'

describe('sessions of a server that is restarted', () => {
  let registryDir: string
  let port: number
  let server: RunningServe

  const start = async (...flags: string[]) => {
    server = await serveInProcess({ registryDir, flags: ['--port', String(port), ...flags] })
  }
  const restart = async (...flags: string[]) => {
    await server.stop()
    await start(...flags)
  }
  const keptFile = () => join(registryDir, `sessions-${port}.json`)

  beforeEach(async () => {
    registryDir = newFolder()
    port = await freePort()
  })

  const statusOf = async (session: RawSession) => (await session.post(rpc('ping'))).status

  it('go on: the stream tells at once what may have been missed, then each update', async () => {
    await start()
    const session = await RawSession.open(server.url, '2025-06-18')
    await session.call('resources/subscribe', { uri: scene })
    await session.call('resources/subscribe', { uri: 'audit://recent?limit=5' })
    await session.call('resources/unsubscribe', { uri: 'audit://recent?limit=5' })
    await restart()

    expect(await statusOf(session)).to.equal(200)
    const events = await session.listen()
    await events.until(() => events.updates.length === 1)
    expect(events.messages.map(({ method }) => method)).to.deep.equal([
      'notifications/resources/list_changed',
      'notifications/resources/updated',
    ])
    await server.post('audit', { records: [{ action: 'object.add' }] })
    await server.post('scene', { dcc: 'maya' })
    await events.until(() => events.updates.length === 2)
    expect(events.updates).to.deep.equal([scene, scene])
  })

  it('are kept in a file of the user alone, without what a client sends to use them', async () => {
    await start()
    const session = await RawSession.open(server.url)
    await server.stop()
    const text = await readFile(keptFile(), 'utf8')
    expect(Object.keys(JSON.parse(text).sessions)).to.have.length(1)
    expect(text).not.to.contain(session.id)
    if (process.platform !== 'win32') {
      expect((await stat(keptFile())).mode & 0o777).to.equal(0o600)
    }
  })

  it('stay ended after a DELETE', async () => {
    await start()
    const session = await RawSession.open(server.url)
    const other = await RawSession.open(server.url)
    expect((await session.delete()).status).to.equal(204)
    // Before the answer, and not with the next write.
    const { sessions } = JSON.parse(await readFile(keptFile(), 'utf8'))
    expect(Object.keys(sessions)).to.have.length(1)
    await restart()
    expect(await statusOf(session)).to.equal(404)
    expect(await statusOf(other)).to.equal(200)
  })

  it('stay in the file when another server does not get the port', async () => {
    await start()
    const session = await RawSession.open(server.url)
    await (await RawSession.open(server.url)).delete()
    const before = await readFile(keptFile(), 'utf8')
    const keyFile = join(registryDir, 'key')
    await writeFile(keyFile, 'a-key-of-thirty-two-characters-1', { mode: 0o600 })
    const flags = ['--port', String(port), '--api-key-file', keyFile]
    const refused = await serveInProcess({ registryDir, flags }).catch((error: Error) => error)
    expect(refused).to.include({ code: 'port_in_use' })
    expect(await readFile(keptFile(), 'utf8')).to.equal(before)
    expect(await statusOf(session)).to.equal(200)
  })

  it('end where callers are known by other means, or when they were idle for too long', async () => {
    await start()
    const session = await RawSession.open(server.url)
    const keyFile = join(registryDir, 'key')
    const key = 'a-key-of-thirty-two-characters-1'
    await writeFile(keyFile, key, { mode: 0o600 })
    await restart('--api-key-file', keyFile)
    const headers = { Authorization: `Bearer ${key}` }
    expect((await session.post(rpc('ping'), headers)).status).to.equal(404)

    const keyed = await RawSession.open(server.url, '2025-11-25', headers)
    await restart('--api-key-file', keyFile, '--limit', 'sessionIdleMs=0')
    expect(await statusOf(keyed)).to.equal(404)
  })

  it('end when the file is damaged, which is logged, and new ones are kept', async () => {
    await start()
    const session = await RawSession.open(server.url)
    await server.stop()
    await writeFile(keptFile(), '{"sessions":', { mode: 0o600 })
    await start()
    expect(await statusOf(session)).to.equal(404)
    expect(server.output().stderr).to.contain('sessions of the server before are forgotten')
    const next = await RawSession.open(server.url)
    await restart()
    expect(await statusOf(next)).to.equal(200)
  })

  it('go on at a gateway, too', async () => {
    await start()
    const gatewayPort = await freePort()
    const open = async () => {
      const gateway = gatewayInProcess({ port: gatewayPort, registryDir })
      return { gateway, url: (await gateway.line('listening')).url as string }
    }
    const first = await open()
    const session = await RawSession.open(first.url)
    await session.call('resources/subscribe', { uri: 'gateway://instances' })
    await first.gateway.stop()
    const second = await open()
    const events = await session.listen()
    await events.until(() => events.updates.includes('gateway://instances'))
    expect(events.messages[0]?.method).to.equal('notifications/resources/list_changed')
    events.close()
    await second.gateway.stop()
  })
})
