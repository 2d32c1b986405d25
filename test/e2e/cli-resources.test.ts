import { expect } from 'chai'
import { type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type ForeignServer, noteUri, startForeign } from '../lib/mcp/client/foreign-server.ts'
import { LinkClient } from '../helpers/link.ts'
import { runCommand } from '../helpers/in-process.ts'
import { exitOf, startProgram } from '../helpers/program.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { until } from './until.ts'

interface Followed {
  readonly child: ChildProcess
  /** Of its stdout. */
  lines(): string[]
  json(): any[]
  stderr(): string
}

/** The program at work. */
function follow(args: string[]): Followed {
  const child = startProgram(args)
  let text = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
  const lines = () => text.split('\n').slice(0, -1)
  return { child, lines, json: () => lines().map(line => JSON.parse(line)), stderr: () => stderr }
}

describe('service-cli resources', function () {
  this.timeout(60_000)
  let registryDir: string
  let serve: ServeProcess
  const folder = () => `--registry-dir=${registryDir}`
  const start = () => startServeProcess({ registryDir, flags: ['--dcc-type=maya'] })

  // Tests that end the server leave another one behind.
  before(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'cli-resources-'))
    serve = await start()
  })
  after(async () => {
    await serve?.stop()
    await rm(registryDir, { recursive: true, force: true })
  })

  it('lists and reads what the running instance offers', async () => {
    await serve.post('scene', { frame: 7 })
    const list = await runCommand(['resources', 'list', folder()])
    expect(list.code).to.equal(0)
    expect(list.stdout).to.match(/^NAME +TYPE +SIZE +MODIFIED +URI\n/)
    expect(list.stdout).to.contain('scene://current').and.contain('audit://recent')
    const some = await runCommand(['resources', 'list', 'AUDIT', folder()])
    expect(some.stdout).to.contain('audit://recent').and.not.contain('scene://')
    const none = await runCommand(['resources', 'list', 'nosuch', folder()])
    expect(none.stderr).to.match(/none of \d+ resources contains "nosuch"/)
    const json = JSON.parse((await runCommand(['resources', 'list', '--json', folder()])).stdout)
    expect(json).to.deep.include({ list_ok: true, url: serve.url, capped: false })
    const read = await runCommand(['resources', 'read', 'scene://current', folder()])
    expect(read).to.deep.equal({ code: 0, stdout: '{"frame":7}', stderr: '' })
    const wrong = await runCommand(['resources', 'read', 'scene://curent', folder()])
    expect(wrong.code).to.equal(3)
    expect(wrong.stderr).to.contain('did you mean scene://current?')
  })

  for (const command of ['read', 'watch']) {
    it(`${command} says in the words of the server why there is no picture of the window`, async () => {
      const run = await runCommand(['resources', command, 'capture://current_window', folder()])
      expect(run.code).to.equal(3)
      expect(run.stderr).to.contain('hint: no application is connected; press Connect in Blender')
    })
  }

  for (const command of ['read', 'watch']) {
    it(`${command} names the nearest resource, or the command that lists all`, async () => {
      const typo = await runCommand(['resources', command, 'sceen://current', folder()])
      expect([typo.code, typo.stdout]).to.deep.equal([3, ''])
      expect(typo.stderr).to.contain('hint: did you mean scene://current?')
      const unknown = await runCommand(['resources', command, 'nosuch://x', folder()])
      expect([unknown.code, unknown.stdout]).to.deep.equal([3, ''])
      expect(unknown.stderr).to.match(/hint: .*resources list shows all resources/)
    })
  }

  it('says which instances there are when several run, and what to do when none does', async () => {
    const second = await start()
    const unclear = await runCommand(['resources', 'list', folder()])
    expect(unclear.code).to.equal(2)
    expect(unclear.stderr).to.contain(serve.instanceId.slice(0, 8)).and.contain('--instance ID')
    const named = ['resources', 'list', '--json', folder(), `--instance=${second.instanceId}`]
    expect(JSON.parse((await runCommand(named)).stdout).url).to.equal(second.url)
    await second.stop()
    await serve.stop()
    const none = await runCommand(['resources', 'list', folder()])
    expect(none.code).to.equal(5)
    expect(none.stderr).to.contain('run.js serve')
    const unknown = await runCommand(['resources', 'list', '--instance=ffffffff', folder()])
    expect(unknown.code).to.equal(5)
    serve = await start()
  })

  it('asks for the key, and takes it from the variable', async () => {
    const keyed = await startServeProcess({ env: { SERVICE_MCP_API_KEY: 'k'.repeat(32) } })
    try {
      const args = ['resources', 'list', `--url=${keyed.url}`]
      const { code, stderr } = await runCommand(args)
      expect(code).to.equal(4)
      expect(stderr).to.contain('SERVICE_MCP_API_KEY').and.contain('--api-key-file')
      const env = { ...process.env, SERVICE_MCP_API_KEY: 'k'.repeat(32) }
      expect((await runCommand(args, { env })).code).to.equal(0)
    } finally {
      await keyed.stop()
    }
  })

  for (const json of [false, true]) {
    it(`watches events by cursor, over a restart of the server${json ? ', as JSON' : ''}`, async () => {
      const session = json ? 'json' : 'text'
      const append = (...messages: string[]) =>
        serve.post(`events/${session}`, {
          events: messages.map(message => ({ source: 'bpy', stream: 'stdout', message })),
        })
      await append(...Array.from({ length: 12 }, (_, at) => `old ${at}`))
      const uri = `events://session/${session}`
      const watch = follow([
        'resources',
        'watch',
        uri,
        '--interval=50',
        folder(),
        ...(json ? ['--json'] : []),
      ])
      const messages = () =>
        json
          ? watch
              .json()
              .flatMap(({ appended }) => (appended === undefined ? [] : [appended.message]))
          : watch.lines().flatMap(line => /info {5}bpy\/stdout {2}(.*)/.exec(line)?.[1] ?? [])
      const old = Array.from({ length: 10 }, (_, at) => `old ${at + 2}`)
      await until(() => messages().length === 10, 'the last events')
      expect(messages()).to.deep.equal(old)
      await append('new')
      await until(() => messages().length === 11, 'the new event')
      expect(watch.stderr()).to.equal('')
      await serve.stop()
      serve = await start()
      await append('after the restart')
      await until(() => messages().length === 12, 'the event after the restart', 20_000)
      expect(messages()).to.deep.equal([...old, 'new', 'after the restart'])
      await until(() => watch.stderr().endsWith('\n'), 'the warning')
      expect(watch.stderr()).to.match(
        /^warning: .* a new event buffer; unread events of the old one are lost\n$/,
      )
      watch.child.kill('SIGINT')
      expect(await exitOf(watch.child)).to.equal(0)
    })
  }

  it('watches a scene that changes a hundred times a second, and loses no change', async () => {
    await serve.post('scene', { frame: 0 })
    const watch = follow(['resources', 'watch', 'scene://current', folder()])
    await until(() => watch.lines().length === 1, 'the first line')
    const frame = 200
    for (let number = 1; number <= frame; number++) {
      await serve.post('scene', { frame: number })
      await delay(6)
    }
    await until(() => watch.lines().at(-1)?.endsWith(`→ ${frame}`) === true, 'the last change')
    watch.child.kill('SIGINT')
    expect(await exitOf(watch.child)).to.equal(0)
    const heads = watch.lines().filter(line => /^\d\d:\d\d:\d\d {2}(?:revision|changed)/.test(line))
    expect(heads.length).to.be.at.least(2).and.below(frame)
    expect(heads.join('\n')).to.contain('updates summed up')
    // Each shows how it goes on from the one before.
    const steps = watch
      .lines()
      .flatMap(line => /frame {2}(\d+) → (\d+)$/.exec(line)?.slice(1) ?? [])
    const froms = steps.filter((_, at) => at % 2 === 0)
    const tos = steps.filter((_, at) => at % 2 === 1)
    expect(froms).to.deep.equal(['0', ...tos.slice(0, -1)])
  })

  it('prints one line for a burst with --settle, relative to the line before', async () => {
    await serve.post('scene', { frame: 0 })
    const words = ['resources', 'watch', 'scene://current', '--json', '--settle=1s', folder()]
    const watch = follow(words)
    await until(() => watch.lines().length === 1, 'the first line')
    for (let frame = 1; frame <= 10; frame++) await serve.post('scene', { frame })
    await until(() => watch.lines().length === 2, 'the line of the burst')
    await serve.post('scene', { frame: 11 })
    await until(() => watch.lines().length === 3, 'the line of one change')
    watch.child.kill('SIGINT')
    expect(await exitOf(watch.child)).to.equal(0)
    const steps = watch.json().flatMap(({ difference }) => difference?.changes ?? [])
    expect(steps.map(({ before, after }) => [before, after])).to.deep.equal([
      [0, 10],
      [10, 11],
    ])
  })

  it('prints only the changes of the part of the scene that the URI names', async () => {
    await serve.post('scene', { frame: 0, render: { width: 1 } })
    const watch = follow([
      'resources',
      'watch',
      'scene://current?pointer=/render',
      '--json',
      folder(),
    ])
    await until(() => watch.lines().length === 1, 'the first line')
    await serve.post('scene', { frame: 1, render: { width: 1 } })
    await serve.post('scene', { frame: 1, render: { width: 2 } })
    await until(() => watch.lines().length === 2, 'the change')
    watch.child.kill('SIGINT')
    expect(await exitOf(watch.child)).to.equal(0)
    expect(watch.json()[1].difference.changes).to.deep.equal([
      { path: '/value/width', kind: 'changed', before: 1, after: 2 },
    ])
  })

  it('prints the new entries of the audit, and nothing of those that they push out', async () => {
    const post = (action: string) => serve.post('audit', { records: [{ action }] })
    for (let n = 0; n < 60; n++) await post(`step.${n}`)
    const watch = follow(['resources', 'watch', 'audit://recent', '--json', folder()])
    const screen = follow(['resources', 'watch', 'audit://recent', folder()])
    await until(() => watch.lines().length === 1 && screen.lines().length === 1, 'the first lines')
    await post('step.last')
    await until(() => watch.lines().length === 2 && screen.lines().length > 1, 'the change')
    for (const { child } of [watch, screen]) {
      child.kill('SIGINT')
      expect(await exitOf(child)).to.equal(0)
    }
    const { changes } = watch.json()[1].difference
    expect(changes.map(({ kind, after }: any) => [kind, after.action])).to.deep.equal([
      ['added', 'step.last'],
    ])
    const lines = screen.lines().slice(2)
    expect(lines).to.have.length(1)
    expect(lines[0]).to.contain('step.last')
  })

  it('says how many entries of the audit came and were pushed out between two reads', async () => {
    await serve.post('audit', { records: [{ action: 'first' }] })
    const watch = follow(['resources', 'watch', 'audit://recent', '--json', folder()])
    const screen = follow(['resources', 'watch', 'audit://recent', folder()])
    await until(() => watch.lines().length === 1 && screen.lines().length === 1, 'the first lines')
    await serve.post('audit', { records: Array(90).fill({ action: 'burst' }) })
    await until(() => watch.lines().length === 2 && screen.lines().length > 2, 'the change')
    for (const { child } of [watch, screen]) {
      child.kill('SIGINT')
      expect(await exitOf(child)).to.equal(0)
    }
    const { missed, difference } = watch.json()[1]
    expect([missed, difference.changes.length]).to.deep.equal([40, 50])
    expect(screen.lines()[2]).to.equal('        … 40 earlier entries left out')
  })

  it('says when the application goes and comes back, with --settle, too', async () => {
    const application = await LinkClient.connect(serve)
    await application.done({ type: 'scene.set', scene: { frame: 1 } })
    const screen = follow(['resources', 'watch', 'scene://current', folder()])
    const json = follow([
      'resources',
      'watch',
      'scene://current',
      '--json',
      '--settle=100ms',
      folder(),
    ])
    const both = (count: number) => () =>
      screen.lines().length >= count && json.lines().length >= count
    await until(both(1), 'the first lines')
    application.ws.close()
    await until(both(2), 'the lines about its end')
    const again = await LinkClient.connect(serve)
    await until(both(3), 'the lines about its return')
    again.ws.close()
    await until(both(4), 'the lines about its second end')
    const read = await runCommand(['resources', 'read', 'scene://current', folder()])
    expect(read.stdout).to.equal('{"frame":1}')
    expect(read.stderr).to.match(/^the application is gone since .*Z; this is its last scene\n$/)
    for (const { child } of [screen, json]) {
      child.kill('SIGINT')
      expect(await exitOf(child)).to.equal(0)
    }
    expect(screen.lines()[1]).to.match(/the application is gone; this is its last scene$/)
    expect(screen.lines()[2]).to.match(/the application is connected again$/)
    expect(json.json()[1]).to.have.nested.property('application.connected', false)
    expect(json.json()[2]).to.have.deep.property('application', { connected: true })
  })

  it('says of an application that left without a scene that there is none', async () => {
    const own = await startServeProcess()
    try {
      await (await LinkClient.connect(own)).bye()
      const gone = () => runCommand(['resources', 'read', 'scene://current', `--url=${own.url}`])
      await until(async () => (await gone()).stderr !== '', 'the remark')
      const { stdout, stderr } = await gone()
      expect(JSON.parse(stdout)).to.include({ status: 'no_snapshot' })
      expect(stderr).to.match(/^the application is gone since .*Z; it left no scene\n$/)
    } finally {
      await own.stop()
    }
  })

  for (const how of ['SIGTERM', 'SIGKILL'] as const) {
    it(`says that the server is away after ${how}, and goes on`, async () => {
      const watch = follow(['resources', 'watch', 'scene://current', '--json', folder()])
      await until(() => watch.lines().length === 1, 'the first line')
      const before = serve.url
      serve.signal(how)
      await serve.exited
      serve = await start()
      await until(() => watch.lines().length === 3, 'the line of the restart', 20_000)
      await serve.post('scene', { frame: 1 })
      await until(() => watch.lines().length === 4, 'the change', 20_000)
      watch.child.kill('SIGTERM')
      expect(await exitOf(watch.child)).to.equal(0)
      const [first, , restarted, change] = watch.json()
      expect(watch.json().map(({ event }) => event)).to.deep.equal([
        'watching',
        'away',
        'reconnected',
        'changed',
      ])
      expect(first.url).to.equal(before)
      expect(restarted.url).to.equal(serve.url)
      expect(change.revision).to.be.a('number')
    })
  }

  it('tells a server that was away from an application that could not answer', async () => {
    let isBusy = false
    const connect = async () => {
      const application = await LinkClient.connect(serve)
      application.answer = ({ type, uri }) => {
        if (type !== 'read') return undefined
        if (isBusy) return { code: 'busy', message: 'it renders', retryable: true }
        return { contents: [{ uri, mimeType: 'application/json', text: '{}' }] }
      }
      const resources = [{ uri: 'app://Cube', name: 'Cube' }]
      await application.done({ type: 'producer.register', scheme: 'app', resources })
      return application
    }
    const askedTwice = (application: LinkClient) =>
      until(() => application.ofType('read').length >= 2, 'two questions')
    let application = await connect()
    const watch = follow(['resources', 'watch', 'app://Cube', '--json', folder()])
    await until(() => watch.lines().length === 1, 'the first line')
    isBusy = true
    await application.done({ type: 'resource.updated', uri: 'app://Cube' })
    await askedTwice(application)
    isBusy = false
    await until(() => watch.lines().length === 3, 'the line about the application')

    const stoppedMs = Date.now()
    await serve.stop()
    serve = await start()
    isBusy = true
    application = await connect()
    await askedTwice(application)
    const answeredMs = Date.now()
    isBusy = false
    await until(() => watch.lines().length === 5, 'the line about the server', 20_000)
    watch.child.kill('SIGTERM')
    expect(await exitOf(watch.child)).to.equal(0)
    application.ws.close()
    const [, waits, busy, , away] = watch.json()
    expect(waits).to.include({ event: 'away', reason: busy.reason })
    expect(busy).to.include({ event: 'reconnected' }).and.not.have.property('away_ms')
    expect(busy.reason).to.contain('the application is busy')
    expect(away).to.include({ event: 'reconnected' }).and.not.have.property('reason')
    expect(away.away_ms).to.be.at.most(answeredMs - stoppedMs)
  })

  it('says in a pipe that the application of an object went, and that it is back', async () => {
    const connect = async () => {
      const application = await LinkClient.connect(serve)
      application.answer = ({ uri }) => ({ contents: [{ uri, text: 'a cube' }] })
      const resources = [{ uri: 'app://Cube', name: 'Cube' }]
      await application.done({ type: 'producer.register', scheme: 'app', resources })
      return application
    }
    const first = await connect()
    const watch = follow(['resources', 'watch', 'app://Cube', folder()])
    await until(() => watch.lines().length === 1, 'the first line')
    first.cut()
    await until(() => watch.lines().length === 2, 'the line about its end')
    const second = await connect()
    await until(() => watch.lines().length === 3, 'the line about its return')
    watch.child.kill('SIGINT')
    expect(await exitOf(watch.child)).to.equal(0)
    await second.bye()
    const [, away, back] = watch.lines()
    expect(away).to.match(/cannot be read \(.*the application is not connected.*\); trying again$/)
    expect(back).to.contain('it could not be read').and.contain('watching again at')
  })

  it('ends quietly when nobody reads any more', async () => {
    const watch = startProgram(['resources', 'watch', 'scene://current', folder()])
    if (watch.stdout === null) throw new Error('no stdout')
    await once(watch.stdout, 'data')
    let stderr = ''
    watch.stderr?.on('data', chunk => (stderr += String(chunk)))
    watch.stdout.destroy()
    const exited = exitOf(watch)
    let over = false
    void exited.then(() => (over = true))
    for (let frame = 0; !over && frame < 2000; frame++) {
      await serve.post('scene', { frame })
      await delay(10)
    }
    expect([await exited, stderr]).to.deep.equal([0, ''])
  })

  it('refuses a --settle that is not a time, and one for a resource that is polled', async () => {
    for (const time of ['2', '99ms', '61s', '1m']) {
      const args = ['resources', 'watch', 'scene://current', `--settle=${time}`, folder()]
      const refused = await runCommand(args)
      expect(refused.code).to.equal(2)
      expect(refused.stderr).to.contain(`--settle ${time} is not a time from 100ms to 60s`)
    }
    const polled = ['resources', 'watch', 'events://session/a', '--settle=1s', folder()]
    expect((await runCommand(polled)).code).to.equal(2)
  })

  it('refuses to watch what is not there, and warns of what is never announced', async () => {
    const missing = await runCommand(['resources', 'watch', 'audit://recnt', folder()])
    expect([missing.code, missing.stdout]).to.deep.equal([3, ''])
    const events = await runCommand(['resources', 'watch', 'events://session/nosuch', folder()])
    expect(events.code).to.equal(3)
    expect(events.stderr).to.contain('resource events://session/nosuch not found')
    const hex = await serve.store('bytes')
    const watch = startProgram(['resources', 'watch', `artefact://sha256/${hex}`, folder()])
    let stderr = ''
    watch.stderr?.on('data', chunk => (stderr += String(chunk)))
    await until(() => stderr.includes('never announce'), 'the warning')
    watch.kill('SIGINT')
    expect(await exitOf(watch)).to.equal(0)
  })

  for (const transport of ['sessions', 'stateless'] as const) {
    it(`watches a text of a foreign server of ${transport}`, async () => {
      const foreign: ForeignServer = await startForeign(transport)
      const watch = follow(['resources', 'watch', noteUri, `--url=${foreign.url.href}`])
      try {
        await until(() => watch.lines().length === 1, 'the first line')
        await foreign.write('first\nchanged')
        await until(() => watch.lines().length === 4, 'the change')
        expect(watch.lines().slice(2)).to.deep.equal(['        - second', '        + changed'])
        watch.child.kill('SIGINT')
        expect(await exitOf(watch.child)).to.equal(0)
      } finally {
        watch.child.kill('SIGKILL')
        await foreign.close()
      }
    })
  }
})
