import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { checkInstance, checkOwnPush } from '../../src/commands/doctor/check-push.ts'
import { apiKeyPolicy } from '../../src/server/http/authentication.ts'
import { startServer, type TestServer } from '../helpers/mcp.ts'
import { startScriptedInstance } from '../helpers/scripted-instance.ts'

describe('checkOwnPush', () => {
  let server: TestServer | null = null
  afterEach(() => server?.stop())

  it('measures a real update, and stops the server', async () => {
    server = await startServer()
    const { url } = server
    let stopped = 0
    const finding = await checkOwnPush(() =>
      Promise.resolve({
        url,
        setScene: (scene: object) => void server?.server.resources().setScene(scene),
        stop: () => Promise.resolve(void stopped++),
      }),
    )
    expect(finding).to.include({ check: 'push', status: 'ok' })
    expect(finding.summary).to.match(/in \d+(\.\d)? ms$/)
    expect(stopped).to.equal(1)
  })

  it('fails where a server cannot be started', async () => {
    const finding = await checkOwnPush(() => Promise.reject(new Error('no sockets')))
    expect(finding).to.include({ status: 'fail' })
    expect(finding.summary).to.contain('no sockets')
  })

  it('fails where no update comes', async () => {
    server = await startServer()
    const { url } = server
    const stop = () => Promise.resolve()
    const mute = { url, setScene: () => {}, stop }
    const finding = await checkOwnPush(() => Promise.resolve(mute), 500)
    expect(finding).to.include({ status: 'fail' })
    expect(finding.summary).to.contain('no update came in time')
  })
})

describe('checkInstance', () => {
  let server: TestServer
  let stranger: Server | null = null
  const instance = { shortId: 'abcd1234', name: 'Blender', loopback: true }
  afterEach(async () => {
    await server?.stop()
    stranger?.closeAllConnections()
    stranger?.close()
  })

  it('tries a session and leaves none behind', async () => {
    server = await startServer({ limits: { maxSessions: 1 } })
    for (let time = 0; time < 3; time++) {
      const finding = await checkInstance({ ...instance, url: server.url }, null)
      expect(finding, finding.summary).to.include({ status: 'ok', check: 'instance_abcd1234' })
      expect(finding.summary).to.contain('sessions and subscriptions work')
    }
  })

  it('uses the key only where one is asked for, and shows it to nobody', async () => {
    const key = 'a-key-that-is-long-enough'
    server = await startServer({}, { auth: apiKeyPolicy(key) })
    const without = await checkInstance({ ...instance, url: server.url }, null)
    expect(without.status).to.equal('ok')
    expect(without.summary).to.contain('requires a key')
    const wrong = await checkInstance({ ...instance, url: server.url }, 'another-key')
    expect(wrong).to.include({ status: 'warn' })
    expect(wrong.summary).to.contain('refuses the key in SERVICE_MCP_API_KEY')
    const right = await checkInstance({ ...instance, url: server.url }, key)
    expect(right.summary).to.contain('subscriptions work')
    expect(JSON.stringify([without, wrong, right])).not.to.contain(key)
  })

  it('sends no key to a server that asks for none', async () => {
    const sent: [path: string | undefined, key: string | undefined][] = []
    const recorder = createServer((req, res) => {
      sent.push([req.url, req.headers.authorization])
      res.writeHead(req.url === '/readyz' ? 200 : 500).end()
    }).listen(0, '127.0.0.1')
    stranger = recorder
    await once(recorder, 'listening')
    server = await startServer()
    const url = `http://127.0.0.1:${(recorder.address() as AddressInfo).port}/mcp`
    const finding = await checkInstance({ ...instance, url }, 'the-key')
    expect(finding).to.include({ status: 'fail' })
    expect(sent).to.deep.equal([
      ['/readyz', undefined],
      ['/mcp', undefined],
    ])
  })

  it('fails where the scene does not come', async () => {
    server = await startServer()
    const dir = await mkdtemp(join(tmpdir(), 'check-push-'))
    const mute = await startScriptedInstance(dir)
    mute.onRead = () => {}
    const finding = await checkInstance({ ...instance, url: mute.url }, null, 500)
    await mute.stop()
    await rm(dir, { recursive: true, force: true })
    expect(finding).to.include({ status: 'fail' })
    expect(finding.summary).to.contain('the scene did not come in time')
  })

  it('asks no other machine', async () => {
    server = await startServer()
    const elsewhere = { ...instance, url: 'http://192.0.2.1/mcp', loopback: false }
    const finding = await checkInstance(elsewhere, null)
    expect(finding).to.include({ status: 'warn' })
    expect(finding.summary).to.contain('not tested')
  })

  it('fails where nobody listens', async () => {
    server = await startServer()
    const { url } = server
    await server.stop()
    const finding = await checkInstance({ ...instance, url }, null)
    expect(finding).to.include({ status: 'fail' })
  })
})
