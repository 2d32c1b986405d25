import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { LinkClient } from '../../helpers/link.ts'
import { RawSession } from '../../helpers/mcp.ts'
import { expectHealthy, failureOf, recordOf } from './link-health.ts'
import { until } from '../../helpers/until.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const program = fileURLToPath(new URL('../../helpers/scripts/host-link-app.ts', import.meta.url))

describe('an application that hangs', () => {
  let serve: RunningServe
  let session: RawSession

  before(async () => {
    serve = await serveInProcess({ flags: ['--limit=linkReadMs=500'] })
    session = await RawSession.open(serve.url)
  })

  after(async () => {
    await expectHealthy(serve)
    await serve.stop()
  })

  it('for 5 s keeps its link, costs only those who ask it, and goes on', async () => {
    const app = startApp(serve)
    await app.said('ready')
    expect(await failureOf(session, 'frozen://1')).to.equal(null)
    const events = await session.listen()
    await session.call('resources/subscribe', { uri: 'audit://recent' })

    // It goes on when the last of the reads is answered, however slow this machine is.
    app.child.kill('SIGSTOP')
    const frozenFor5s = delay(5000)
    const reasons = []
    for (let number = 0; number < 4; number++) {
      const late = failureOf(session, `frozen://${number}`)
      // Answered while the read waits for the application.
      const { result } = await session.call('resources/list')
      expect(result.resources.map(({ uri }: any) => uri)).to.include('frozen://1')
      expect(await session.readJson('scene://current')).to.deep.equal({ from: 'a process' })
      expect((await serve.post('audit', { records: [{ action: 'meanwhile' }] })).status).to.equal(
        200,
      )
      reasons.push(await late)
    }
    expect(reasons).to.deep.equal(Array(4).fill('host_timeout'))
    await events.until(() => events.updates.length >= 4, 'four updates')
    expect((await recordOf(serve)).host).to.include({ connected: true, app_pid: 4711 })
    await frozenFor5s
    app.child.kill('SIGCONT')

    // The late answers come before this one, and are nobody's any more.
    for (const uri of ['frozen://3', 'frozen://another']) {
      const { result, error } = await session.call('resources/read', { uri })
      expect(error).to.equal(undefined)
      expect(result.contents).to.have.lengthOf(1)
      expect(result.contents[0]).to.include({ uri, text: uri })
    }
    events.close()
    const second = await LinkClient.open(serve)
    second.say({ type: 'bye' })
    await second.closed
    app.child.kill('SIGKILL')
    await once(app.child, 'close')
    await until(async () => !(await recordOf(serve)).host.connected, 'the link is seen to be lost')
    expect(await failureOf(session, 'frozen://1')).to.equal('host_disconnected')
  })

  it('gets a cancel for each question that ran out of time', async () => {
    const app = await LinkClient.connect(serve, { instance_id: 'silent' })
    await app.done({ type: 'producer.register', scheme: 'silent' })
    const reads = ['a', 'b', 'c'].map(name => failureOf(session, `silent://${name}`))
    expect(await Promise.all(reads)).to.deep.equal(Array(3).fill('host_timeout'))
    await app.until(() => app.ofType('cancel').length === 3, 'three cancels')
    const asked = app.ofType('read').map(({ id }) => id)
    expect(
      app
        .ofType('cancel')
        .map(({ id }) => id)
        .sort(),
    ).to.deep.equal(asked.sort())
    await app.bye()
  })

  it('is busy when its heartbeats say so', async () => {
    const app = await LinkClient.connect(serve, { instance_id: 'rendering' })
    await app.done({ type: 'producer.register', scheme: 'rendering' })
    await app.done({ type: 'heartbeat', main_idle_ms: 0, busy: 'rendering' })
    expect(await failureOf(session, 'rendering://a')).to.equal('host_busy')
    await app.done({ type: 'heartbeat', main_idle_ms: 2001 })
    expect(await failureOf(session, 'rendering://a')).to.equal('host_busy')
    await app.done({ type: 'heartbeat', main_idle_ms: 0 })
    expect(await failureOf(session, 'rendering://a')).to.equal('host_timeout')
    await app.bye()
  })
})

function startApp({ hostUrl, token }: RunningServe): {
  child: ChildProcess
  said(word: string): Promise<void>
} {
  const child = spawn(process.execPath, [program, hostUrl, token], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', piece => (text += String(piece)))
  return { child, said: word => until(() => text.includes(word), `the application says ${word}`) }
}
