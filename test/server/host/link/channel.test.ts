import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { bearer } from '../harness.ts'
import { until } from '../../../helpers/until.ts'
import { LinkServer, hello } from './link-server.ts'

const key = randomBytes(16).toString('base64')
const opening = [
  'GET /host HTTP/1.1',
  'Host: localhost',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Version: 13',
  `Sec-WebSocket-Key: ${key}`,
  'Sec-WebSocket-Protocol: dcc-host.v1',
  `Authorization: ${bearer.Authorization}`,
].join('\r\n')

/** A masked frame, the mask all zeros. */
function frame(opcode: number, payload: Buffer, { fin = true } = {}): Buffer {
  const head = Buffer.from([opcode | (fin ? 0x80 : 0), 0x80 | 127, ...Array(12).fill(0)])
  head.writeBigUInt64BE(BigInt(payload.length), 2)
  return Buffer.concat([head, payload])
}

const textFrame = (message: object) => frame(1, Buffer.from(JSON.stringify(message)))

describe('a link on which nothing arrives', () => {
  let server: LinkServer
  beforeEach(async () => {
    server = await LinkServer.start({ limits: { linkPingMs: 40, linkSilenceMs: 120 } })
  })
  afterEach(() => server.stop())

  /** Past the hello; answers no ping. */
  async function deaf() {
    const connection = await server.raw()
    connection.socket.write(`${opening}\r\n\r\n`)
    connection.socket.write(textFrame(hello()))
    await connection.until('"welcome"')
    return connection
  }

  it('is cut', async () => {
    const connection = await deaf()
    await connection.closed
    await until(() => server.presence?.connected === false)
    expect(server.log.lines.map(line => line.text)).to.include(
      'application disconnected {"close_code":1006}',
    )
  })

  it('is not cut while a large message comes slowly', async () => {
    const connection = await deaf()
    const scene = textFrame({ type: 'scene.set', scene: { name: 'x'.repeat(200) } })
    for (const byte of scene.subarray(0, 60)) {
      connection.socket.write(Buffer.from([byte]))
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    connection.socket.write(scene.subarray(60))
    await until(() => server.sink.scenes.length === 1)
  })

  it('is not cut because the server itself did not listen', async () => {
    const peer = await server.join()
    await until(() => peer.pings >= 2)
    const end = performance.now() + 400
    while (performance.now() < end);
    await until(() => peer.pings >= 4)
    await peer.settled()
  })
})

describe('a message of the host link', () => {
  let server: LinkServer
  beforeEach(async () => (server = await LinkServer.start({ limits: { maxMessageBytes: 5000 } })))
  afterEach(() => server.stop())

  it('may come in fragments', async () => {
    const connection = await server.raw()
    connection.socket.write(`${opening}\r\n\r\n`)
    connection.socket.write(textFrame(hello()))
    const scene = Buffer.from('{"type":"scene.set","scene":{"name":"Würfel"}}')
    for (const [at] of scene.entries()) {
      const last = at === scene.length - 1
      connection.socket.write(frame(at === 0 ? 1 : 0, scene.subarray(at, at + 1), { fin: last }))
    }
    await until(() => server.sink.scenes.length === 1)
    expect(server.sink.scenes).to.deep.equal([{ name: 'Würfel' }])
  })

  const large = Buffer.from(`{"type":"new","x":"${'x'.repeat(5000)}"}`)
  const fatal: [what: string, bytes: Buffer, code: number][] = [
    ['a message over the limit', frame(1, large), 1009],
    ['a frame that announces more, without a byte of it', frame(2, large).subarray(0, 14), 1009],
    ['text that is no UTF-8', frame(1, Buffer.from([0x22, 0xff, 0x22])), 1007],
  ]
  for (const [what, bytes, code] of fatal) {
    it(`closes with ${code} after ${what}`, async () => {
      const connection = await server.raw()
      connection.socket.write(`${opening}\r\n\r\n`)
      connection.socket.write(textFrame(hello()))
      connection.socket.write(bytes)
      await connection.until(`\x88\x02\x03${String.fromCharCode(code - 768)}`)
      expect(connection.received).to.contain('"welcome"')
    })
  }
})

describe('an application that does not take the answers', () => {
  /** More than the system keeps for both ends of a connection. */
  const answers = 30_000
  const wrong = JSON.stringify({ type: 'bye', id: 'i'.repeat(64), ['x'.repeat(64)]: 1 })

  for (const reads of [true, false]) {
    it(`is ${reads ? 'closed with 1013 when it reads at last' : 'cut when it never reads'}`, async () => {
      const limits = { maxLinkBacklogBytes: 65_536, stopGraceMs: reads ? 60_000 : 50 }
      const server = await LinkServer.start({ limits })
      try {
        const peer = await server.join()
        peer.ws.pause()
        for (let sent = 0; sent < answers; sent++) peer.ws.send(wrong)
        if (reads) {
          await until(() => peer.ws.bufferedAmount === 0)
          // What the system still holds is read by the server, in this process, turn by turn.
          for (let turn = 0; turn < 1000; turn++) await setImmediate()
          peer.ws.resume()
          const reason = 'the answers are not taken'
          expect(await peer.closed).to.deep.equal({ code: 1013, reason })
        }
        await until(() => server.presence?.connected === false)
        expect(peer.received.length).to.be.below(answers)
      } finally {
        await server.stop()
      }
    })
  }
})
