import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { expect } from 'chai'
import type { HostStatus } from '../../../src/host-client.ts'
import { Bench, errorOf, token } from './bench.ts'
import { type Message, type Peer, type Script, welcome, within } from './scripted-server.ts'

describe('HostClient', () => {
  let bench: Bench
  beforeEach(() => {
    bench = new Bench()
  })
  afterEach(() => bench.end())

  describe('its opening', () => {
    it('says who it is, with the token in the header only', async () => {
      const { server, host, peer } = await bench.linked(
        {},
        { instanceId: 'run-1', document: { path: '/shots/010.blend', modified: false } },
      )
      const { client: self, ...hello } = peer.messages[0] as Message
      expect(hello).to.deep.equal({
        type: 'hello',
        protocol: [1],
        instance_id: 'run-1',
        app: { dcc_type: 'blender', mode: 'gui', pid: 4711, version: '4.2' },
        document: { path: '/shots/010.blend', modified: false },
      })
      expect(self.name).to.equal('service-cli/host-client')
      const [headers] = server.headers
      expect(headers).to.include({ authorization: `Bearer ${token}` })
      expect(headers).to.include({ 'sec-websocket-protocol': 'dcc-host.v1' })
      expect(headers).not.to.have.any.keys('origin', 'sec-websocket-extensions')
      expect(inspect([host, bench.statuses], { depth: 20, showHidden: true })).not.to.include(token)
    })

    it('is told by the status, step by step', async () => {
      const { server, host } = await bench.linked()
      expect(bench.statuses.map(({ state }) => state)).to.deep.equal([
        'connecting',
        'connecting',
        'connected',
      ])
      const url = server.url.replace('http', 'ws')
      expect(host.status).to.include({ state: 'connected', url, lastError: null })
      await host.stop()
      expect(host.status).to.include({ state: 'stopped', text: 'stopped: quit' })
    })

    it('gives up a server that never says welcome, and comes back', async () => {
      const server = await bench.serve({ welcome: null })
      bench.client(server.url, { limits: { openTimeoutMs: 50 } }).start()
      await server.attempts(() => server.peers.length > 1, 'another link')
      expect(bench.statuses.at(-1)?.lastError).to.equal('the server did not answer in time')
    })
  })

  describe('connected', () => {
    it('rejects when the time is over, the caller gives up, or the client stops', async () => {
      const server = await bench.serve({ welcome: null })
      const host = bench.client(server.url)
      const code = async (promise: Promise<unknown>) => (await errorOf(promise)).code
      expect(await code(host.connected())).to.equal('stopped')
      host.start()
      expect(await code(host.connected({ timeoutMs: 20 }))).to.equal('timeout')
      expect(await code(host.connected({ signal: AbortSignal.abort() }))).to.equal('stopped')
      const waiting = host.connected()
      await host.stop()
      expect(await code(waiting)).to.equal('stopped')
    })
  })

  describe('its end', () => {
    const refusals: [name: string, script: Script, text: RegExp][] = [
      ['HTTP 401 for a given token', { refuse: () => 401 }, /does not accept the host token$/],
      ['close 4406', { hello: peer => peer.socket.close(4406) }, /no common version/],
      ['close 4409', { hello: peer => peer.socket.close(4409) }, /took over/],
    ]
    for (const [name, script, text] of refusals) {
      it(`is for good after ${name}`, async () => {
        const server = await bench.serve(script)
        const host = bench.client(server.url)
        host.start()
        const error = await errorOf(host.connected())
        expect(error).to.include({ name: 'HostLinkError', code: 'refused' })
        expect(host.status.state).to.equal('refused')
        expect(host.status.text).to.match(text)
        // Longer than the first pause would be.
        await new Promise(resolve => setTimeout(resolve, 400))
        expect(server.headers).to.have.length(1)
      })
    }

    /** The real timer, with the delays that were asked of it. */
    const delays: number[] = []
    const timer = {
      after(delayMs: number, run: () => void) {
        delays.push(delayMs)
        const handle = setTimeout(run, delayMs).unref()
        return () => clearTimeout(handle)
      },
    }
    beforeEach(() => {
      delays.length = 0
    })

    it('waits ten seconds when another application is connected', async () => {
      const server = await bench.serve({ hello: peer => peer.socket.close(4423) })
      const { promise: waiting, resolve } = Promise.withResolvers<HostStatus>()
      const onStatus = (status: HostStatus) => status.state === 'waiting' && resolve(status)
      bench.client(server.url, { onStatus, limits: { openTimeoutMs: 9000 } }, { timer }).start()
      const status = await within(waiting, 'the pause')
      expect(status.text).to.match(/^another application is connected/)
      await new Promise(setImmediate)
      expect(delays).to.include(10_000)
    })

    it('comes no sooner back than a stopping server asked for', async () => {
      const { server, peer } = await bench.linked({}, {}, { timer })
      peer.send({ type: 'shutdown', reason: 'the server stops', reconnect_after_ms: 700 })
      peer.socket.close(1001)
      await server.peer(2)
      expect(delays).to.include(700)
    })

    it('is a goodbye when the client stops, and what was queued goes before it', async () => {
      const { host, peer } = await bench.linked({ hello: welcomeAndClose })
      host.record({ action: 'file.save' })
      await host.stop('the file was closed')
      expect(peer.messages.map(({ type }) => type)).to.deep.equal([
        'hello',
        'heartbeat',
        'audit.record',
        'bye',
      ])
      expect(peer.messages.at(-1)).to.deep.equal({ type: 'bye', reason: 'the file was closed' })
      expect(await peer.closed).to.equal(1000)
    })

    it('asks the server to remove what was shared when the user disconnects', async () => {
      const { host, peer } = await bench.linked({ hello: welcomeAndClose })
      await host.stop('disconnected', { clear: true })
      expect(peer.messages.at(-1)).to.include({ type: 'bye', clear: true })
    })

    it('does not wait for a server that does not close', async () => {
      const { host, peer } = await bench.linked()
      await within(host.stop(), 'the stop')
      expect(await peer.closed).to.equal(1006)
    })

    it('comes when nothing is heard for the time of silence', async () => {
      const { server } = await bench.linked({}, { limits: { silenceMs: 150 } })
      // Without its hello: on a busy machine this connection is silent for as long, too.
      await server.attempts(() => server.peers.length === 2, 'connection 2')
      expect(bench.statuses.at(-1)?.lastError).to.match(/sends nothing any more/)
    })

    it('does not come while the server pings', async () => {
      const { server, host, peer } = await bench.linked({}, { limits: { silenceMs: 300 } })
      const pings = setInterval(() => peer.socket.ping(), 50)
      await new Promise(resolve => setTimeout(resolve, 800))
      clearInterval(pings)
      expect([host.status.state, server.peers.length]).to.deep.equal(['connected', 1])
    })

    it('is 4400 for what is no message, and the client comes back', async () => {
      const { server, peer } = await bench.linked()
      peer.send('{"type":')
      expect(await within(peer.closed, 'the close')).to.equal(4400)
      await server.peer(2)
    })
  })

  describe('what it does not know', () => {
    it('gets an error when it is a question, and is passed over otherwise', async () => {
      const { host, peer } = await bench.linked()
      peer.send({ type: 'newer.news', x: 1 })
      peer.send({ type: 'ok', id: 'never asked' })
      peer.send({ type: 'error', code: 'invalid', message: 'of nothing', retryable: false })
      peer.send({ type: 'newer.question', id: 'q1' })
      peer.send({ type: 'throttle', scene_min_interval_ms: -1 })
      await peer.next('error', 2)
      expect(peer.of('error')).to.deep.equal([
        {
          type: 'error',
          id: 'q1',
          code: 'unknown_type',
          retryable: false,
          message: 'unknown message type "newer.question"',
        },
        {
          type: 'error',
          code: 'invalid',
          retryable: false,
          message: '/scene_min_interval_ms must be a whole number from 0 to 86400000',
        },
      ])
      expect(host.status.state).to.equal('connected')
    })
  })

  describe('the application', () => {
    it('is told again when its document or mode change', async () => {
      const { host, peer } = await bench.linked()
      host.setDocument({ path: '/a.blend' })
      host.setDocument({ path: '/b.blend', modified: true })
      host.setMode('background')
      const update = await peer.next('app.update')
      expect(update).to.deep.include({
        document: { path: '/b.blend', modified: true },
        mode: 'background',
      })
      host.setDocument(null)
      expect((await peer.next('app.update', 2)).document).to.equal(null)
    })

    it('is busy from the next moment on, with what was dropped', async () => {
      const { host, peer } = await bench.linked()
      expect(await peer.next('heartbeat')).not.to.have.property('busy')
      host.setBusy('rendering')
      expect(await peer.next('heartbeat', 2)).to.deep.equal({
        type: 'heartbeat',
        main_idle_ms: 0,
        queue_depth: 0,
        busy: 'rendering',
        dropped: { audit: 0, events: 0 },
      })
      host.setBusy(null)
      expect(await peer.next('heartbeat', 3)).not.to.have.property('busy')
    })

    it('takes no empty, long or many-lined text for what keeps it busy', async () => {
      const { host } = await bench.linked()
      for (const busy of ['', 'x'.repeat(256), 'two\nlines']) {
        expect(() => host.setBusy(busy), JSON.stringify(busy)).to.throw(TypeError, 'busy')
      }
    })

    it('says behind the welcome what keeps it', async () => {
      const server = await bench.serve()
      const host = bench.client(server.url)
      host.setBusy('rendering')
      host.start()
      const peer = await server.peer()
      expect(await peer.next('heartbeat')).to.have.property('busy', 'rendering')
    })

    it('shows in its heartbeats how long the event loop was kept', async () => {
      const { peer } = await bench.linked({ welcome: { ...welcome, heartbeat_ms: 100 } })
      await peer.next('heartbeat')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
      const { main_idle_ms: idle } = await peer.next('heartbeat', 2)
      expect(idle).to.be.within(300, 5000)
    })

    const wrong: [name: string, options: object][] = [
      ['an upper-case kind', { app: { dccType: 'Maya', mode: 'gui' } }],
      ['a kind that begins with a dash', { app: { dccType: '-x', mode: 'gui' } }],
      ['a name longer than the server takes', { instanceId: '😀'.repeat(128) }],
      ['an unknown mode', { app: { dccType: 'maya', mode: 'window' } }],
      ['a pid of 0', { app: { dccType: 'maya', mode: 'gui', pid: 0 } }],
      ['an empty instance id', { instanceId: '' }],
      ['a document that is no text', { document: { path: 7 } }],
      ['a document that is modified by a text', { document: { modified: 'yes' } }],
      ['a url without a token', { token: undefined }],
      ['another machine', { url: 'http://192.0.2.1/host' }],
      ['TLS, which the server does not speak', { url: 'https://127.0.0.1/host' }],
    ]
    for (const [name, options] of wrong) {
      it(`is refused at once for ${name}`, () => {
        expect(() => bench.client('http://127.0.0.1:1/host', options)).to.throw(TypeError)
      })
    }
  })

  it('lets the process end after stop, without an unhandled rejection', async () => {
    const program = fileURLToPath(new URL('./ending-program.ts', import.meta.url))
    const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (said += text))
    }
    // A timer that was left running would keep it beyond the time limit of this test.
    const [code] = await once(child, 'close')
    expect([said, code]).to.deep.equal(['stopped\n', 0])
  })
})

function welcomeAndClose(peer: Peer): void {
  peer.send(welcome)
  void peer.next('bye').then(() => peer.socket.close(1000))
}
