import { expect } from 'chai'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HttpLink } from '../../../../src/lib/mcp/bridge/http-link.ts'
import { instanceHeader } from '../../../../src/lib/instances/gateway-key.ts'
import { Secret } from '../../../../src/lib/util/secret.ts'
import { systemTimer } from '../../../../src/lib/util/time.ts'
import { PeerWay } from '../../../../src/server/gateway/peers/peer-way.ts'
import { ReadLink } from '../../../../src/server/gateway/relay/read-link.ts'

const url = new URL('http://instance/mcp?x=1')

describe('the way to an instance through another gateway', () => {
  const key = new Secret('secret of the gateway')
  const link = new HttpLink({ limits: { connectMs: 60_000 }, key, env: {}, timer: systemTimer })
  const reads = new ReadLink({ connectMs: 60_000, key })
  let respond: RequestListener
  const server = createServer((req, res) => {
    req.resume().once('end', () => respond(req, res))
  })
  let base: string
  /** How often another way was asked for. */
  let asked: number

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
  beforeEach(() => (asked = 0))

  const wayTo = (root: string, again: (() => Promise<PeerWay>) | null = null) =>
    new PeerWay({ root: `${base}${root}`, link, reads, again })
  /** Another one, which is asked for once. */
  const moving = () =>
    wayTo('/peer/old', async () => {
      asked++
      return wayTo('/peer/new')
    })
  /** The old way answers by itself with this status, the other ways for the instance. */
  const answering = (status: number, isOfInstance = false): RequestListener => {
    return (req, res) => {
      const isOld = req.url?.startsWith('/peer/old') === true
      const headers = isOld && !isOfInstance ? {} : { [instanceHeader]: 'id' }
      res.writeHead(isOld ? status : 200, headers)
      res.end(`${req.headers.authorization} at ${req.url}`)
    }
  }
  async function ask(way: PeerWay): Promise<string> {
    try {
      const answer = await way.ask({
        ...{ url, method: 'POST', headers: {}, body: '{}', repeatable: false, answerMs: 60_000 },
        signal: new AbortController().signal,
      })
      return `${answer.statusCode} ${Buffer.concat(await answer.toArray()).toString()}`
    } catch (error) {
      return (error as Error).message
    }
  }
  function read(way: PeerWay): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>()
    let text = ''
    way.send(
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
        const said = await through(wayTo('/peer/id'))
        expect(said).to.match(/^200 Bearer secret of the gateway at \/peer\/id\/mcp/)
      })

      for (const status of [401, 421]) {
        it(`goes another way once after ${status}`, async () => {
          respond = answering(status)
          expect(await through(moving())).to.match(/^200 .*\/peer\/new\/mcp/)
          expect(asked).to.equal(1)
          expect(await through(wayTo('/peer/old'))).to.match(/^through its gateway: /)
        })
      }

      it('fails with the reason that the other gateway gives', async () => {
        respond = answering(502)
        expect(await through(moving())).to.equal('through its gateway: the link was cut')
        respond = answering(504)
        expect(await through(moving())).to.equal('through its gateway: it does not answer')
        respond = answering(500)
        expect(await through(moving())).to.equal('through its gateway: it answers with HTTP 500')
        expect(asked).to.equal(0)
      })

      it('gives on what the instance refuses', async () => {
        for (const status of [401, 404, 421, 502, 504]) {
          respond = answering(status, true)
          expect(await through(moving())).to.match(new RegExp(`^${status} .*/peer/old/mcp`))
        }
        expect(asked).to.equal(0)
      })
    })
  }
})
