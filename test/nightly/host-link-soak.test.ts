import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { LinkClient } from '../helpers/link.ts'
import { type Events, RawSession } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'

const MiB = 1024 * 1024

/** What a busy application says and is asked in one second. */
const perSecond = { scenes: 10, audit: 20, events: 50, reads: 2 }
const heartbeatSeconds = 5
const artefactBytes = 256 * 1024
const sceneObjects = 200

/** Garbage is collected early, so that the growth of the process is what is kept. */
const smallHeap = { NODE_OPTIONS: '--max-semi-space-size=4 --max-old-space-size=96' }

/** What the second half may add to the first: its garbage. 100 bytes for each message are more. */
const slackBytes = 16 * MiB

/** What so many seconds of a busy application send, as fast as it is answered. */
const seconds = Number(process.env.LINK_SECONDS ?? 120)

describe(`${seconds} seconds of a busy application`, function () {
  this.timeout(60_000 + seconds * 200)
  let serve: ServeProcess
  let session: RawSession
  let events: Events
  let app: LinkClient
  const sent = { scenes: 0, audit: 0, events: 0, reads: 0, artefacts: 0, reconnects: 0 }

  before(async () => {
    serve = await startServeProcess({ flags: ['--log-level', 'warn'], env: smallHeap })
    session = await RawSession.open(serve.url)
    events = await session.listen()
    for (const uri of ['scene://current', 'audit://recent']) {
      await session.call('resources/subscribe', { uri })
    }
    app = await connect()
  })

  async function connect(): Promise<LinkClient> {
    const client = await LinkClient.connect(serve)
    // What was answered is forgotten here, so that this process stays small, too.
    client.drain = ({ type }) => type !== 'error'
    client.answer = ({ uri }) => ({ contents: [{ uri, text: JSON.stringify({ uri }) }] })
    const resources = [{ uri: 'soak-object://Cube', name: 'Cube' }]
    await client.done({ type: 'producer.register', scheme: 'soak-object', resources })
    await client.done({ type: 'events.open', session_id: 'console', maxlen: 2000 })
    return client
  }

  function sceneOf(number: number): object {
    const objects = Array.from({ length: sceneObjects }, (_, index) => ({
      name: `Object.${index}`,
      location: [number, index, 0.5],
    }))
    return { schema: 'dcc-scene/1', number, objects }
  }

  async function second(number: number): Promise<void> {
    const said: Promise<any>[] = []
    const say = (message: object) => said.push(app.done(message))
    if (number % heartbeatSeconds === 0) say({ type: 'heartbeat', main_idle_ms: number % 100 })
    for (let index = 0; index < perSecond.audit; index++) {
      say({ type: 'audit.record', records: [{ action: `act ${number}`, params: { index } }] })
    }
    for (let index = 0; index < perSecond.events; index++) {
      const event = { source: 'blender', stream: 'stdout', message: `line ${number} ${index}` }
      say({ type: 'events.append', session_id: 'console', events: [event] })
    }
    for (let index = 0; index < perSecond.scenes; index++) {
      // One at a time, as the document asks for.
      await app.done({ type: 'scene.set', scene: sceneOf(number * perSecond.scenes + index) })
    }
    for (let index = 0; index < perSecond.reads; index++) {
      const uri = `soak-object://${number}-${index}`
      expect(await session.readJson(uri)).to.deep.equal({ uri })
    }
    await Promise.all(said)
    events.messages.length = 0
    sent.scenes += perSecond.scenes
    sent.audit += perSecond.audit
    sent.events += perSecond.events
    sent.reads += perSecond.reads
  }

  async function minute(number: number): Promise<void> {
    const bytes = Buffer.alloc(artefactBytes, `artefact ${number} `)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const size = bytes.length
    const put = app.done({ type: 'artefact.put', mime: 'image/png', size, sha256 })
    app.ws.send(bytes)
    expect(await put).to.include({ uri: `artefact://sha256/${sha256}` })
    sent.artefacts++
    if (number % 2 === 0) app.cut()
    else await app.bye()
    app = await connect()
    sent.reconnects++
  }

  /** What the server holds, and what this process keeps after its garbage was collected. */
  function memory(): { server: number; client: number } {
    setFlagsFromString('--expose-gc')
    runInNewContext('gc')()
    const { heapUsed, external } = process.memoryUsage()
    return { server: serve.rss().now, client: heapUsed + external }
  }

  it('leave the memory of both sides where it was after the warm-up', async () => {
    const warm = Math.floor(seconds / 2)
    const run = async (from: number, to: number) => {
      for (let number = from; number < to; number++) {
        await second(number)
        if (number % 60 === 59 || number === to - 1) await minute(number)
      }
    }
    const startedAt = performance.now()
    await run(0, warm)
    const before = memory()
    await run(warm, seconds)
    const end = memory()
    const tookMs = Math.round(performance.now() - startedAt)

    const mb = (bytes: number) => (bytes / MiB).toFixed(1)
    console.log(
      `      ${JSON.stringify(sent)} in ${tookMs} ms; server ${mb(before.server)} -> ` +
        `${mb(end.server)} MiB, client ${mb(before.client)} -> ${mb(end.client)} MiB`,
    )
    expect(sent.scenes).to.equal(seconds * perSecond.scenes)
    expect(end.server - before.server, 'growth of the server').to.be.below(slackBytes)
    expect(end.client - before.client, 'growth of the application').to.be.below(slackBytes)
    expect(app.ofType('error')).to.deep.equal([])
    expect(events.ended).to.equal(false)
    const last = await session.readJson('scene://current')
    expect(last.number).to.equal(seconds * perSecond.scenes - 1)
    const { entries } = await session.readJson('audit://recent?limit=500')
    expect(entries).to.have.lengthOf(500)
    events.close()
    await app.bye()
  })
})
