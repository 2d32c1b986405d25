import { expect } from 'chai'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HttpLink } from '../../../../src/lib/mcp/bridge/http-link.ts'
import { instanceHeader } from '../../../../src/lib/instances/gateway-key.ts'
import { Secret } from '../../../../src/lib/util/secret.ts'
import { systemTimer } from '../../../../src/lib/util/time.ts'
import { PeerClient } from '../../../../src/server/gateway/peers/peer-client.ts'
import { ReadLink } from '../../../../src/server/gateway/relay/read-link.ts'

const url = new URL('http://instance/mcp?x=1')

describe('a client of an instance behind another gateway', () => {
  const key = new Secret('secret of the gateway')
  const link = new HttpLink({ limits: { connectMs: 60_000 }, key, env: {}, timer: systemTimer })
  const reads = new ReadLink({ connectMs: 60_000, key })
  let respond: RequestListener
  const server = createServer((req, res) => {
    req.resume().once('end', () => respond(req, res))
  })
  let base: string
  /** How often the link was located again. */
  let located: number

  before(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => {
    link.close()
    reads.close()
    server.close()
    server.closeAllConnections()
  })
  beforeEach(() => (located = 0))

  const clientAt = (root: string, locate: (() => Promise<PeerClient>) | null = null) =>
    new PeerClient({ root: `${base}${root}`, link, reads, locate })
  /** Locates the link again, once. */
  const moving = () =>
    clientAt('/peer/old', async () => {
      located++
      return clientAt('/peer/new')
    })
  /** The old gateway answers with this status itself, the others for the instance. */
  const answering = (status: number, isOfInstance = false): RequestListener => {
    return (req, res) => {
      const isOld = req.url?.startsWith('/peer/old') === true
      const headers = isOld && !isOfInstance ? {} : { [instanceHeader]: 'id' }
      res.writeHead(isOld ? status : 200, headers)
      res.end(`${req.headers.authorization} at ${req.url}`)
    }
  }
  async function ask(client: PeerClient): Promise<string> {
    try {
      const answer = await client.ask({
        url,
        method: 'POST',
        headers: {},
        body: '{}',
        repeatable: false,
        answerMs: 60_000,
        signal: new AbortController().signal,
      })
      return `${answer.statusCode} ${Buffer.concat(await answer.toArray()).toString()}`
    } catch (error) {
      return (error as Error).message
    }
  }
  function read(client: PeerClient): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>()
    let text = ''
    client.send(
      { url, headers: {}, body: '{}', answerMs: 60_000, silenceMs: 60_000 },
      {
        begun: status => (text += `${status} `),
        data: chunk => (text += chunk.toString()),
        ended: () => resolve(text),
        failed: reason => resolve(reason.message),
      },
    )
    return promise
  }

  for (const [name, through] of [
    ['a request', ask],
    ['a read', read],
  ] as const) {
    describe(name, () => {
      it('goes to its address with its secret', async () => {
        respond = answering(200)
        const said = await through(clientAt('/peer/id'))
        expect(said).to.match(/^200 Bearer secret of the gateway at \/peer\/id\/mcp/)
      })

      for (const status of [401, 421]) {
        it(`locates the link again once after ${status}`, async () => {
          respond = answering(status)
          expect(await through(moving())).to.match(/^200 .*\/peer\/new\/mcp/)
          expect(located).to.equal(1)
          expect(await through(clientAt('/peer/old'))).to.match(/^through its gateway: /)
        })
      }

      it('fails with the reason that the other gateway gives', async () => {
        respond = answering(502)
        expect(await through(moving())).to.equal('through its gateway: the link was cut')
        respond = answering(504)
        expect(await through(moving())).to.equal('through its gateway: it does not answer')
        respond = answering(500)
        expect(await through(moving())).to.equal('through its gateway: it answers with HTTP 500')
        expect(located).to.equal(0)
      })

      it('passes on what the instance refuses', async () => {
        for (const status of [401, 404, 421, 502, 504]) {
          respond = answering(status, true)
          expect(await through(moving())).to.match(new RegExp(`^${status} .*/peer/old/mcp`))
        }
        expect(located).to.equal(0)
      })
    })
  }
})
