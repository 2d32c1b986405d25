import { expect } from 'chai'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LinkClient } from '../../../helpers/link.ts'
import { RawSession } from '../../../helpers/mcp.ts'
import { root } from '../../../helpers/program.ts'
import { until } from '../../../helpers/until.ts'
import { serveInProcess } from '../../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../../helpers/serve-process.ts'
import { recordOf } from '../link-health.ts'

describe('what an application tells over the host link', () => {
  let serve: RunningServe
  let session: RawSession
  let app: LinkClient

  before(async () => {
    serve = await serveInProcess()
    session = await RawSession.open(serve.url)
  })

  after(async () => {
    await serve.stop()
    expect(serve.output().stderr).not.to.match(/"level":"error"|\n\s+at /)
  })

  it('is preceded by the welcome that the docs show', async () => {
    app = await LinkClient.connect(serve)
    const docs = await readFile(join(root, 'docs/host-link.md'), 'utf8')
    const [, example = ''] = /#### welcome[^]*?\n\n((?: {4}.*\n)+)/.exec(docs) ?? []
    const { server: _, ...facts } = JSON.parse(example)
    expect(app.welcome).to.deep.include(facts)
  })

  it('as events is read by cursor, also after the link is gone', async () => {
    app = await LinkClient.connect(serve)
    const opened = { type: 'events.open', session_id: 'console', maxlen: 3, max_message_bytes: 64 }
    expect(await app.done(opened)).to.include({ next_cursor: 0 })
    for (let number = 1; number <= 5; number++) {
      const events = [{ source: 'blender', stream: 'stdout', message: `line ${number}` }]
      const appended = await app.done({ type: 'events.append', session_id: 'console', events })
      expect(appended).to.include({ next_cursor: number, dropped: Math.max(0, number - 3) })
    }
    app.cut()
    await app.closed
    const { events } = await session.readJson('events://session/console?cursor=0')
    const messages = events.map(({ message }: any) => message)
    expect(messages).to.deep.equal(['line 3', 'line 4', 'line 5'])
    app = await LinkClient.connect(serve)
    expect(await app.done(opened)).to.include({ next_cursor: 5 })
  })

  it('of itself stands in the instance record, and goes with it', async () => {
    // The record is written after the welcome, and may still tell of the application before.
    const pid = 4712
    app = await LinkClient.connect(serve, {
      instance_id: 'recorded',
      app: { dcc_type: 'blender', version: '3.4.1', pid, mode: 'gui' },
    })
    const expectRecord = (holds: (record: any) => boolean, what: string) =>
      until(async () => holds(await recordOf(serve)), what)
    await expectRecord(record => record.host.app_pid === pid, 'the application')
    const { host, status, scene, dcc_type: dccType } = await recordOf(serve)
    const { since } = host
    const facts = { connected: true, app_pid: pid, version: '3.4.1', mode: 'gui', since }
    expect(host).to.deep.equal(facts)
    expect([status, scene, dccType]).to.deep.equal(['available', null, 'blender'])

    const path = '/shots/010.blend'
    await app.done({ type: 'app.update', document: { path, modified: true }, mode: 'background' })
    await expectRecord(record => record.scene === path, 'the document')
    await expectRecord(record => record.host.mode === 'background', 'the mode')
    await app.done({ type: 'app.update', document: null })
    await expectRecord(record => record.scene === null, 'no document')
    await app.done({ type: 'heartbeat', main_idle_ms: 0, busy: 'rendering' })
    await expectRecord(record => record.status === 'busy', 'busy')

    app.cut()
    await expectRecord(record => !record.host.connected, 'no application')
    const after = await recordOf(serve)
    const nobody = { connected: false, app_pid: null, version: null, mode: null }
    expect(after.host).to.deep.equal({ ...nobody, since: after.host.since })
    expect(after.host.since > since).to.equal(true)
    expect([after.status, after.dcc_type]).to.deep.equal(['available', 'unknown'])
    app = await LinkClient.connect(serve)
  })
})
