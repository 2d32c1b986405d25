import { expect } from 'chai'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { WebSocketServer } from 'ws'
import { Channel } from '../../../../src/server/host/link/channel.ts'
import { frameOf, LinkClient } from '../../../helpers/link.ts'
import { until } from '../../../helpers/until.ts'
import { atEnd } from '../../../helpers/cleanup.ts'

const bounds = { helloMs: 60_000, pingMs: 40, silenceMs: 120, maxBacklogBytes: 65_536 }

describe('a channel of the host link', () => {
  let channel: Channel
  let link: LinkClient
  let types: string[]
  let closed: Promise<number>

  /** The application's end of it is `link`. */
  async function open(given: Partial<typeof bounds> = {}): Promise<void> {
    types = []
    const ended = Promise.withResolvers<number>()
    closed = ended.promise
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
    atEnd(() => server.close())
    server.on('connection', (ws, { socket }: { socket: Socket }) => {
      const reader = {
        message: ({ type }: { type: string }) => void types.push(type),
        bytes: () => {},
        closed: ended.resolve,
      }
      channel = new Channel(ws, socket, { reader, isPage: false }, { ...bounds, ...given })
    })
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    link = await LinkClient.open({ hostUrl: `http://127.0.0.1:${port}/host`, token: 't' }, false)
  }

  it('is cut when nothing arrives, after the silence that was announced', async () => {
    await open()
    channel.allowSilence(600_000)
    await until(() => link.pings >= 8, 'more pings than an unannounced silence lasts')
    expect(link.ws.readyState).to.equal(link.ws.OPEN)
    channel.allowSilence(0)
    expect(await closed).to.equal(1006)
  })

  it('is not cut while a large message comes slowly', async () => {
    await open()
    const message = frameOf(JSON.stringify({ type: 'slow', name: 'x'.repeat(200) }))
    for (const byte of message.subarray(0, 60)) {
      link.socket.write(Buffer.from([byte]))
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    link.socket.write(message.subarray(60))
    await until(() => types.length === 1)
  })

  it('is not cut because the server itself did not listen', async () => {
    await open()
    link.say({ type: 'first' })
    await until(() => link.pings >= 2)
    const end = performance.now() + 400
    while (performance.now() < end);
    link.say({ type: 'second' })
    await until(() => types.length === 2)
  })

  it('is closed without a hello in time, and stays when it came', async () => {
    await open({ helloMs: 100, pingMs: 60_000 })
    expect((await link.closed).code).to.equal(4400)
    await open({ helloMs: 500 })
    link.say({ type: 'hello' })
    channel.allowSilence(600_000)
    await until(() => link.pings >= 16, 'more pings than the hello had time')
    expect(link.ws.readyState).to.equal(link.ws.OPEN)
  })

  it('is closed with 1013 when the answers are not taken', async () => {
    await open({ pingMs: 60_000 })
    link.ws.pause()
    const answer = { type: 'ok', id: 'i'.repeat(10_000) } as const
    let sent = 0
    while (channel.send(answer)) {
      sent++
      await setImmediate()
    }
    link.ws.resume()
    expect((await link.closed).code).to.equal(1013)
    expect(link.messages).to.have.length(sent + 1)
  })
})
