import { expect } from 'chai'
import { request } from 'node:http'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { ok } from '../../../src/lib/util/result.ts'
import { resolveCaptureLimits } from '../../../src/server/capture/limits.ts'
import { noApplication } from '../../../src/server/capture/target.ts'
import { WindowCapture } from '../../../src/server/capture/window-capture.ts'
import { until } from '../../helpers/until.ts'
import { MemoryBackend } from '../../helpers/memory-capture.ts'
import { RawSession, rpc, startServer, type TestServer } from '../../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'

const uri = 'capture://current_window'

describe('reads of the window by many clients', () => {
  let backend: MemoryBackend
  let capture: WindowCapture
  let server: TestServer
  beforeEach(async () => {
    backend = new MemoryBackend()
    const limits = resolveCaptureLimits()
    const parts = { mode: 'auto', backends: [backend], limits, log: silentLogger } as const
    capture = new WindowCapture(parts, noApplication)
    capture.aim(ok({ pid: 4711, title: null }))
    await capture.tried
    server = await startServer({}, { captureSource: capture })
  })
  afterEach(async () => {
    await capture.close()
    await server.stop()
  })

  const readers = (count: number) =>
    until(() => capture.waiting === count, `${count} readers that wait`)

  function finish(): void {
    for (const { form, outcome } of backend.takings) {
      outcome.resolve(ok(backend.picture(form.maxWidth)))
    }
  }

  it('cost one capture for all who wait', async () => {
    backend.held = true
    const sessions = await Promise.all([1, 2, 3, 4].map(() => RawSession.open(server.url)))
    const reads = sessions.map(session => session.call('resources/read', { uri }))
    await readers(4)
    finish()
    const blobs = (await Promise.all(reads)).map(({ result }) => result.contents[0].blob)
    expect(new Set(blobs)).to.have.length(1)
    expect(backend.takings).to.have.length(1)
  })

  it('are refused with a wrong parameter, and so are subscriptions', async () => {
    const session = await RawSession.open(server.url)
    for (const query of ['max_width=abc', 'view=top']) {
      for (const method of ['resources/read', 'resources/subscribe']) {
        const { error } = await session.call(method, { uri: `${uri}?${query}` })
        expect(error?.code, `${method} ${query}`).to.equal(-32602)
      }
    }
    const { result } = await session.call('resources/subscribe', { uri: `${uri}?max_width=640` })
    expect(result).to.deep.equal({})
  })

  it('do not keep any other read waiting', async () => {
    backend.held = true
    const session = await RawSession.open(server.url)
    const picture = session.call('resources/read', { uri })
    await readers(1)
    expect(await session.readJson('scene://current')).to.include({ status: 'no_snapshot' })
    const { result } = await session.call('resources/list')
    expect(result.resources.map((each: any) => each.uri)).to.include(uri)
    finish()
    expect((await picture).result.contents).to.have.length(1)
  })

  it('end with the last of them: one cancels, the other hangs up', async () => {
    backend.held = true
    const session = await RawSession.open(server.url)
    const cancelled = session.post(rpc('resources/read', { uri }, 'one'))
    await readers(1)
    const method = 'resources/read'
    const other = request(server.url, {
      method: 'POST',
      headers: statelessHeaders(method, { uri }),
    })
    other.on('error', () => {})
    other.end(JSON.stringify(statelessRequest(method, { uri })))
    await readers(2)
    const { signal } = backend.takings[0]?.form ?? expect.fail('not taken')
    const notice = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'one' },
    }
    await session.post(JSON.stringify(notice))
    await cancelled
    await readers(1)
    expect(signal.aborted).to.equal(false)
    other.destroy()
    await readers(0)
    expect(signal.aborted).to.equal(true)
    expect(backend.takings).to.have.length(1)
  })

  it('end with the server', async () => {
    backend.held = true
    const session = await RawSession.open(server.url)
    const read = session.call('resources/read', { uri }).catch((error: unknown) => error)
    await readers(1)
    await capture.close()
    expect(((await read) as any).error.data).to.include({ reason: 'no_window' })
    expect(backend.takings[0]?.form.signal.aborted).to.equal(true)
  })
})
