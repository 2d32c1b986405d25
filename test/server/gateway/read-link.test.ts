import { expect } from 'chai'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createNetServer } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ReadLink } from '../../../src/server/gateway/relay/read-link.ts'

describe('the connections for reads of an instance', () => {
  const times = { answerMs: 60_000, silenceMs: 60_000 }
  let url: URL
  let bodies: string[]
  let respond: (res: ServerResponse, req: IncomingMessage) => void
  const link = new ReadLink({ connectMs: 60_000, key: null })
  const server = createServer((req, res) => {
    let body = ''
    req.on('data', chunk => (body += chunk))
    req.on('end', () => {
      bodies.push(body)
      respond(res, req)
    })
  })

  before(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
  })
  after(() => {
    link.close()
    server.close()
    server.closeAllConnections()
  })
  beforeEach(() => {
    bodies = []
    respond = res => res.end('there')
  })

  /** The body of the answer, or why it failed. */
  function ask(body: string, to = url) {
    const { promise: answer, resolve } = Promise.withResolvers<string>()
    let text = ''
    const cancel = link.send(
      { url: to, headers: {}, body, ...times },
      {
        begun() {},
        data: chunk => void (text += chunk.toString()),
        ended: () => resolve(text),
        failed: reason => resolve(reason.message),
      },
    )
    return { answer, cancel }
  }

  /** One is idle afterwards. */
  async function keepConnection(): Promise<void> {
    await ask('first').answer
    await nextTurn()
  }

  it('send a read once more when the instance had just closed a kept one, and no third time', async () => {
    await keepConnection()
    respond = (_res, req) => {
      respond = again => again.end('after all')
      req.socket.destroy()
    }
    expect(await ask('second').answer).to.equal('after all')
    respond = (_res, req) => req.socket.destroy()
    expect(await ask('third').answer).to.equal('the connection was cut (ECONNRESET)')
    expect(bodies).to.deep.equal(['first', 'second', 'second', 'third', 'third'])
  })

  it('fail when an instance closes each connection at once', async () => {
    const closing = createNetServer(socket => socket.end())
    closing.listen(0, '127.0.0.1')
    await once(closing, 'listening')
    const to = new URL(`http://127.0.0.1:${(closing.address() as AddressInfo).port}/mcp`)
    expect(await ask('first', to).answer).to.include('the connection was cut')
    closing.close()
  })

  it('fail for an instance that says without end that its answer will come', async () => {
    let later: NodeJS.Immediate
    respond = res => {
      const hint = () => {
        res.writeEarlyHints({ link: '</a>; rel=preload' })
        if (!res.destroyed) later = setImmediate(hint)
      }
      hint()
    }
    expect(await ask('first').answer).to.equal('it answers with HTTP 103')
    clearImmediate(later!)
  })

  it('fail in words when they are closed', async () => {
    respond = () => link.close()
    expect(await ask('waiting').answer).to.equal('the connection was cut')
  })

  it('never send a read that was cancelled before', async () => {
    const { answer, cancel } = ask('cancelled')
    cancel(new Error('its reader has left'))
    expect(await answer).to.equal('its reader has left')
    expect(await ask('next').answer).to.equal('there')
    expect(bodies).to.deep.equal(['next'])
  })
})
