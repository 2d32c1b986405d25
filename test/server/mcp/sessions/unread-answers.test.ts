import { connect } from 'node:net'
import { once } from 'node:events'
import { request } from 'node:http'
import { expect } from 'chai'
import { type AccessEntry, silentLogger } from '../../../../src/lib/util/logger.ts'
import { openPolicy } from '../../../../src/server/http/authentication.ts'
import { UnsentAnswerBudget } from '../../../../src/server/mcp/unsent-answer-budget.ts'
import { JsonText, resultMessage } from '../../../../src/server/mcp/json-text.ts'
import {
  ask,
  initializeBody,
  postHeaders,
  RawSession,
  rpc,
  startServer,
} from '../../../helpers/mcp.ts'

const big = 'x'.repeat(7_000_000)

describe('an answer that is not taken', () => {
  it('does not bring an ended session back: the rest of its batch is left alone', async () => {
    const running = await startServer({ limits: { maxSubscriptions: 1 } })
    try {
      running.server.resources().setScene({ big })
      const session = await RawSession.open(running.url, '2025-03-26')
      const read = (id: number) => rpc('resources/read', { uri: 'scene://current' }, id)
      const subscribe = rpc('resources/subscribe', { uri: 'scene://current' }, 3)
      const body = `[${read(1)},${read(2)},${subscribe}]`
      const { hostname, port } = new URL(running.url)
      const socket = connect(Number(port), hostname)
      const headers = Object.entries({ ...session.headers, 'Content-Length': String(body.length) })
      const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
      socket.write(
        `POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${head}\r\n${body}`,
      )
      await once(socket, 'data')
      socket.pause()
      expect((await session.delete()).status).to.equal(204)
      let text = ''
      socket.on('data', (bytes: Buffer) => (text = (text + bytes.toString()).slice(-200)))
      socket.resume()
      await once(socket, 'close')
      expect(text).to.match(/\}\]\r\n0\r\n\r\n$|\]\r\n0\r\n\r\n$/)
      const other = await RawSession.open(running.url)
      const answer = await other.call('resources/subscribe', { uri: 'scene://current' })
      expect(answer.result, 'the one subscription there is room for').to.deep.equal({})
    } finally {
      await running.stop()
    }
  })

  it('shares the bytes of the scene among its readers', async () => {
    const running = await startServer()
    const sockets = []
    try {
      running.server.resources().setScene({ big })
      const session = await RawSession.open(running.url)
      const body = rpc('resources/read', { uri: 'scene://current' })
      await session.post(body)
      const before = process.memoryUsage().rss
      const { hostname, port } = new URL(running.url)
      for (let n = 0; n < 40; n++) {
        const socket = connect(Number(port), hostname)
        sockets.push(socket)
        const head = Object.entries({ ...session.headers, 'Content-Length': String(body.length) })
          .map(([name, value]) => `${name}: ${value}\r\n`)
          .join('')
        socket.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\n${head}\r\n${body}`)
        await once(socket, 'data')
        socket.pause()
      }
      // Forty copies would be 280 MB.
      expect(process.memoryUsage().rss - before).to.be.below(140 * 1024 * 1024)
    } finally {
      for (const socket of sockets) socket.destroy()
      await running.stop()
    }
  })

  it('is refused beyond the bound, and served again when others are done', async () => {
    const held = new UnsentAnswerBudget(250_000)
    const text = (char: string) => resultMessage(1, JsonText.of(char.repeat(100_000)))
    const shared = JsonText.of('s'.repeat(100_000))
    const first = held.admit(1, resultMessage(1, shared))
    const again = held.admit(2, resultMessage(2, shared))
    const second = held.admit(3, text('b'))
    const refused = held.admit(4, text('c'))
    expect(JSON.parse(String(refused.text.parts[0]))).to.deep.include({ id: 4 })
    expect(JSON.parse(String(refused.text.parts[0])).error.data).to.deep.equal({
      reason: 'answers_waiting',
    })
    first.release?.()
    expect(
      held.admit(5, text('d')).text.parts,
      'another still reads the shared one',
    ).to.have.length(1)
    again.release?.()
    again.release?.()
    expect(held.admit(6, text('e')).text.parts).to.have.length(3)
    second.release?.()
    expect(held.admit(7, JsonText.of({ small: true })).release).to.equal(null)
  })
})

describe('a client that reaches a limit of its own', () => {
  it('is told so, and the error log is not', async () => {
    const errors: object[] = []
    const log = { ...silentLogger, error: (fields: object) => void errors.push(fields) }
    const running = await startServer({ limits: { maxSubscriptionsPerSession: 1 } }, { log })
    try {
      const session = await RawSession.open(running.url)
      await session.call('resources/subscribe', { uri: 'scene://current' })
      const { error } = await session.call('resources/subscribe', { uri: 'scene://delta' })
      expect(error).to.deep.include({ code: -32603, data: { reason: 'subscription_limit' } })
      expect(errors).to.deep.equal([])
    } finally {
      await running.stop()
    }
  })
})

describe('a slow decision about a caller', () => {
  it('leaves no stream for a client that did not wait for it', async () => {
    const asked = Promise.withResolvers<void>()
    const decided = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    let isSlow = false
    const authenticate = async () => {
      if (isSlow) {
        isSlow = false
        asked.resolve()
        await decided.promise
      }
      return openPolicy.authenticate({ headers: {}, peer: '127.0.0.1' })
    }
    const accessLog = ({ method }: AccessEntry) => void (method === 'GET' && gone.resolve())
    const limits = { maxSessions: 1 }
    const running = await startServer({ limits }, { auth: { authenticate }, accessLog })
    try {
      const session = await RawSession.open(running.url)
      isSlow = true
      const left = request(running.url, {
        headers: { ...session.headers, Accept: 'text/event-stream' },
      })
      left.on('error', () => {})
      left.end()
      await asked.promise
      left.destroy()
      await gone.promise
      decided.resolve()
      const { status } = await ask(running.url, {
        method: 'POST',
        headers: postHeaders,
        body: initializeBody(),
      })
      expect(status, 'the idle session makes room').to.equal(200)
    } finally {
      await running.stop()
    }
  })
})
