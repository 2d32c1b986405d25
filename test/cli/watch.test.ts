import { expect } from 'chai'
import { silentLogger } from '../../src/lib/util/logger.ts'
import type { ServeHandle } from '../../src/server/host/serve-options.ts'
import { startServe } from '../../src/server/serve.ts'
import { newFolder } from '../helpers/cleanup.ts'
import { expectEnd, runCommand } from '../helpers/in-process.ts'
import { LinkClient } from '../helpers/link.ts'
import { runningServe } from '../helpers/serve-process.ts'
import { until } from '../helpers/until.ts'
import { Screen } from './screen.ts'

describe('service-cli resources watch', () => {
  let registryDir: string
  let handle: ServeHandle
  let serve: ReturnType<typeof runningServe>
  let stopWatch = async () => {}
  const folder = () => `--registry-dir=${registryDir}`

  /** Without `serveInProcess`, which waits for the command that runs. */
  async function start(): Promise<void> {
    handle = await startServe({
      port: 0,
      host: '127.0.0.1',
      dccType: 'maya',
      artefacts: true,
      resources: true,
      allowedHosts: [],
      allowedOrigins: [],
      registryDir,
      log: silentLogger,
      accessLog: () => {},
    })
    const { url, hostUrl: host_url, hostTokenFile: host_token_file, instanceId } = handle
    serve = runningServe({ url, host_url, host_token_file, instance_id: instanceId })
  }

  async function restart(): Promise<void> {
    await handle.stop()
    await start()
  }

  before(async () => {
    registryDir = newFolder()
    await start()
  })
  afterEach(() => stopWatch())
  after(() => handle.stop())

  /** Begins to watch. No other command can run until `end`. */
  async function watch(uri: string, ...flags: string[]) {
    const screen = new Screen()
    const words = ['resources', 'watch', uri, folder(), ...flags]
    const running = runCommand(words, { stdout: screen })
    const lines = () => screen.lines()
    stopWatch = async () => {
      process.emit('SIGHUP')
      await running
    }
    await until(() => lines().length > 0, 'the first line')
    return {
      lines,
      json: (): any[] => lines().map(line => JSON.parse(line)),
      /** Waits for so many lines. */
      has: (count: number) => until(() => lines().length >= count, `${count} lines`),
      /** Ends as on a signal. Resolves with stderr. */
      async end(): Promise<string> {
        process.emit('SIGHUP')
        const { code, stderr } = await running
        expect(code, stderr).to.equal(0)
        return stderr
      },
    }
  }

  it('prints events by cursor, over a restart of the server', async () => {
    const append = (...messages: string[]) =>
      serve.post('events/text', {
        events: messages.map(message => ({ source: 'bpy', stream: 'stdout', message })),
      })
    await append(...Array.from({ length: 12 }, (_, at) => `old ${at}`))
    const watched = await watch('events://session/text')
    const messages = () =>
      watched.lines().flatMap(line => /info {5}bpy\/stdout {2}(.*)/.exec(line)?.[1] ?? [])
    const has = (count: number) => until(() => messages().length === count, `${count} events`)
    await has(10)
    await append('new')
    await has(11)
    await restart()
    await append('after the restart')
    await has(12)
    const old = Array.from({ length: 10 }, (_, at) => `old ${at + 2}`)
    expect(messages()).to.deep.equal([...old, 'new', 'after the restart'])
    expect(watched.lines().join()).to.contain('events are missing')
    await watched.end()
  })

  it('combines changes and loses none: each line goes on from the one before', async () => {
    await serve.post('scene', { frame: 0 })
    const watched = await watch('scene://current', '--json')
    const steps = () => watched.json().flatMap(({ changes }) => changes ?? [])
    for (const last of [50, 100]) {
      for (let frame = last - 49; frame <= last; frame++) await serve.post('scene', { frame })
      await until(() => steps().at(-1)?.after === last, `frame ${last}`)
    }
    await watched.end()
    const befores = steps().map(({ before }) => before)
    expect(befores.length).to.be.at.least(2).and.below(100)
    expect(befores).to.deep.equal([
      0,
      ...steps()
        .slice(0, -1)
        .map(({ after }) => after),
    ])
    expect(watched.json().at(-1).lines[1]).to.match(/^- frame \d+ → 100$/)
  })

  it('prints one line for a burst with --settle', async () => {
    await serve.post('scene', { frame: 0 })
    const watched = await watch('scene://current', '--json', '--settle=1s')
    for (let frame = 1; frame <= 10; frame++) await serve.post('scene', { frame })
    await watched.has(2)
    await watched.end()
    const [{ before, after }] = watched.json()[1].changes
    expect([before, after]).to.deep.equal([0, 10])
  })

  it('prints the new entries of the audit, and how many came and were pushed out', async () => {
    const post = (...actions: string[]) =>
      serve.post('audit', { records: actions.map(action => ({ action })) })
    await post(...Array.from({ length: 60 }, (_, at) => `step.${at}`))
    const watched = await watch('audit://recent', '--json')
    await post('step.last')
    await watched.has(2)
    await post(...Array.from({ length: 90 }, () => 'burst'))
    await watched.has(3)
    await watched.end()
    // Nothing of the entries that the new ones push out.
    const [, one, burst] = watched.json()
    expect(one.entries.map(({ action }: any) => action)).to.deep.equal(['step.last'])
    expect([burst.missed, burst.entries.length]).to.deep.equal([40, 50])
    expect(burst.lines[0]).to.contain('… 40 earlier entries left out')
  })

  it('says when the application goes and comes back', async () => {
    const application = await LinkClient.connect(serve)
    await application.done({ type: 'scene.set', scene: { frame: 1 } })
    const watched = await watch('scene://current')
    application.ws.close()
    await watched.has(2)
    const again = await LinkClient.connect(serve)
    await watched.has(3)
    again.ws.close()
    await watched.has(4)
    await watched.end()
    const [, gone, back] = watched.lines()
    expect(gone).to.match(/the application is gone since .*; the scene is its last$/)
    expect(back).to.match(/the application is connected again$/)
    const read = await runCommand(['resources', 'read', 'scene://current', folder()])
    expect(read.stdout).to.equal('{"frame":1}')
    expect(read.stderr).to.match(/^the application is gone since .*Z; the scene is its last\n$/)
  })

  it('says that the server is away, and goes on with the next one', async () => {
    const watched = await watch('scene://current', '--json')
    const before = serve.url
    await restart()
    await watched.has(3)
    await serve.post('scene', { frame: 1 })
    await watched.has(4)
    await watched.end()
    const [first, away, restarted, change] = watched.json()
    const events = [first, away, restarted, change].map(({ event }) => event)
    expect(events).to.deep.equal(['watching', 'away', 'reconnected', 'changed'])
    expect([first.url, restarted.url]).to.deep.equal([before, serve.url])
    expect(restarted).to.include({ reason: away.reason }).and.have.property('away_ms')
    expect(change.revision).to.be.a('number')
  })

  it('refuses a --settle that is not a time or for a polled resource, and a missing resource', async () => {
    for (const time of ['2', '99ms', '61s', '1m']) {
      const args = ['resources', 'watch', 'scene://current', `--settle=${time}`, folder()]
      expectEnd(await runCommand(args), 2, `--settle ${time} is not a time from 100ms to 60s`)
    }
    const polled = ['resources', 'watch', 'events://session/a', '--settle=1s', folder()]
    expect((await runCommand(polled)).code).to.equal(2)
    expectEnd(
      await runCommand(['resources', 'watch', 'events://session/nosuch', folder()]),
      3,
      'no resource at events://session/nosuch',
    )
  })

  it('refuses what is never announced', async () => {
    const uri = `artefact://sha256/${await serve.store('bytes')}`
    expectEnd(
      await runCommand(['resources', 'watch', uri, folder()]),
      3,
      `the server does not announce updates of ${uri}`,
    )
  })

  it('shows changed members and the new size of other contents of what an application offers', async () => {
    const uri = 'app://Cube'
    const application = await LinkClient.connect(serve)
    let contents: object[] = []
    application.answer = ({ type }) => (type === 'read' ? { contents } : undefined)
    const resources = [{ uri, name: 'Cube' }]
    const json = (value: object) => [
      { uri, mimeType: 'application/json', text: JSON.stringify(value) },
    ]
    contents = json([{ id: 1, name: 'Cube', x: 1 }])
    await application.done({ type: 'producer.register', scheme: 'app', resources })
    const watched = await watch(uri)
    const steps: [contents: object[], ...lines: RegExp[]][] = [
      [
        json([
          { id: 2, name: 'Lamp' },
          { id: 1, name: 'Cube', x: 2 },
        ]),
        /Lamp added/,
        /Cube x 1 → 2/,
      ],
      [[{ uri, text: 'a\nb' }], /3 B of/],
      [[{ uri, blob: Buffer.from('b').toString('base64') }], /1 B of/],
      [[], /0 B of data/],
    ]
    let count = 1
    for (const [next, ...lines] of steps) {
      contents = next
      await application.done({ type: 'resource.updated', uri })
      count += lines.length
      await watched.has(count)
      const shown = watched.lines().slice(-lines.length)
      for (const [at, line] of lines.entries()) expect(shown[at]).to.match(line)
    }
    await watched.end()
    await application.bye()
  })
})
