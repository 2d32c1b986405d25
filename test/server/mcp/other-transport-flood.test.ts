import { expect } from 'chai'
import { type Events, RawSession, rpc, startServer, type TestServer } from '../../helpers/mcp.ts'
import { callStateless, listenStateless } from '../../helpers/stateless.ts'

const uri = 'test://shown'
const unknown = 'nothing://here'
const others = 40
const flooders = 12
const updates = 20
const readsPerUpdate = 2

/** A listening client of one transport. */
interface Client {
  /** The JSON-RPC message that answers a read. */
  read(uri: string, id: number): Promise<any>
  readonly stream: Events
}

type TransportName = 'session' | 'stateless'

const open: Readonly<Record<TransportName, (url: string) => Promise<Client>>> = {
  async session(url) {
    const session = await RawSession.open(url)
    await session.call('resources/subscribe', { uri })
    return {
      read: async (uri, id) => (await session.post(rpc('resources/read', { uri }, id))).json,
      stream: await session.listen(),
    }
  },
  async stateless(url) {
    return {
      read: async (uri, id) => (await callStateless(url, 'resources/read', { uri }, id)).json,
      stream: await listenStateless(url, { resourceSubscriptions: [uri] }),
    }
  },
}

/** Requests without a pause, every second one for what does not exist, until told to end. */
class Flood {
  answered = 0
  readonly wrong: unknown[] = []
  #over = false
  readonly #work: Promise<unknown>

  constructor(clients: readonly Client[]) {
    this.#work = Promise.all(clients.map((client, n) => this.#run(client, 1_000_000 * n)))
  }

  async end(): Promise<void> {
    this.#over = true
    await this.#work
  }

  async #run(client: Client, firstId: number): Promise<void> {
    for (let id = firstId; !this.#over; id++) {
      const refused = id % 2 === 1
      const answer = await client.read(refused ? unknown : uri, id)
      if (answer.id !== id || (refused ? 'result' : 'error') in answer) this.wrong.push(answer)
      this.answered++
    }
  }
}

function describeFlood(transport: TransportName, other: TransportName): void {
  describe(`a client of the ${transport} transport, beside a flood of the ${other} transport`, () => {
    let running: TestServer
    let client: Client
    let shown = 0
    const crowd: Client[] = []

    before(async () => {
      const limits = { maxSessions: others, maxListenStreams: others }
      running = await startServer({ limits }, {}, server =>
        server
          .resources()
          .addProducer({
            scheme: 'test',
            list: () => [],
            read: asked => [{ uri: asked, mimeType: 'text/plain', text: String(shown) }],
          }),
      )
      while (crowd.length < others) crowd.push(await open[other](running.url))
    })
    after(async () => {
      for (const { stream } of crowd) stream.close()
      client?.stream.close()
      await running?.stop()
    })

    it('gets in when the other transport holds as many clients as it may', async () => {
      const refusal = await open[other](running.url).catch((error: unknown) => String(error))
      expect(refusal).to.match(/every session of this server is in use|as many streams as it may/)
      client = await open[transport](running.url)
    })

    it('is answered with what is shown now, and told of every update once', async () => {
      const flood = new Flood(crowd.slice(0, flooders))
      try {
        for (let n = 1; n <= updates; n++) {
          shown = n
          running.server.resources().notifyUpdated(uri)
          await client.stream.until(() => client.stream.updates.length >= n, `update ${n}`)
          for (let k = 0; k < readsPerUpdate; k++) {
            const id = n * readsPerUpdate + k
            const answer = await client.read(uri, id)
            expect(answer.id).to.equal(id)
            expect(answer.result.contents[0].text).to.equal(String(n))
          }
        }
      } finally {
        await flood.end()
      }
      expect(client.stream.updates).to.deep.equal(Array(updates).fill(uri))
      expect(flood.wrong).to.deep.equal([])
      expect(flood.answered).to.be.at.least(flooders)
    })

    it('and the crowd is told of every update, too', async () => {
      for (const { stream } of crowd) {
        await stream.until(() => stream.updates.length >= updates, 'every update')
        expect(stream.updates).to.deep.equal(Array(updates).fill(uri))
      }
    })
  })
}

describeFlood('session', 'stateless')
describeFlood('stateless', 'session')
