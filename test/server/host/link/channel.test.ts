import { expect } from 'chai'
import { setImmediate } from 'node:timers/promises'
import { frameOf, LinkClient, opcodes } from '../../../helpers/link.ts'
import { until } from '../../../helpers/until.ts'
import { LinkServer } from '../harness.ts'

describe('a link on which nothing arrives', () => {
  let server: LinkServer
  beforeEach(async () => {
    server = await LinkServer.start({ limits: { linkPingMs: 40, linkSilenceMs: 120 } })
  })
  afterEach(() => server.stop())

  it('is cut', async () => {
    const link = await LinkClient.connect(server, {}, false)
    await link.closed
    await until(() => server.presence?.connected === false)
    expect(server.log.lines.map(line => line.text)).to.include(
      'application disconnected {"close_code":1006}',
    )
  })

  it('is cut only after the silence that the application announced', async () => {
    const link = await LinkClient.connect(server, {}, false)
    const beat = (members: object) => link.say({ type: 'heartbeat', main_idle_ms: 0, ...members })
    beat({ busy: 'recomputing', silent_ms: 600_000 })
    await until(() => link.pings >= 8, 'more pings than an unannounced silence lasts')
    expect(server.presence).to.include({ connected: true, busy: true })
    beat({})
    await link.closed
  })

  it('is not cut while a large message comes slowly', async () => {
    const link = await LinkClient.connect(server, {}, false)
    const scene = frameOf(JSON.stringify({ type: 'scene.set', scene: { name: 'x'.repeat(200) } }))
    for (const byte of scene.subarray(0, 60)) {
      link.socket.write(Buffer.from([byte]))
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    link.socket.write(scene.subarray(60))
    await until(() => server.scenes.length === 1)
    link.reset()
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
  before(async () => (server = await LinkServer.start({ limits: { maxMessageBytes: 5000 } })))
  after(() => server.stop())

  it('may come in fragments', async () => {
    const link = await LinkClient.connect(server, {}, false)
    const scene = Buffer.from('{"type":"scene.set","scene":{"name":"Würfel"}}')
    for (const [at, byte] of scene.entries()) {
      const opcode = at === 0 ? opcodes.text : opcodes.more
      link.socket.write(frameOf(Buffer.from([byte]), { opcode, fin: at === scene.length - 1 }))
    }
    await until(() => server.scenes.length === 1)
    expect(server.scenes).to.deep.equal([{ name: 'Würfel' }])
    link.reset()
  })

  const fatal: [what: string, bytes: Buffer, code: number][] = [
    ['a message over the limit', frameOf(`{"type":"new","x":"${'x'.repeat(5000)}"}`), 1009],
    ['a frame that announces more, without a byte of it', frameOf('', { declared: 5001 }), 1009],
    ['text that is no UTF-8', frameOf(Buffer.from([0x22, 0xff, 0x22])), 1007],
  ]
  for (const [what, bytes, code] of fatal) {
    it(`closes the link with ${code} when it is ${what}`, async () => {
      const link = await LinkClient.connect(server, {}, false)
      link.socket.write(bytes)
      expect((await link.closed).code).to.equal(code)
      expect(link.messages.map(({ type }) => type)).to.deep.equal(['welcome'])
    })
  }
})

describe('an application that does not take the answers', () => {
  /** More than the system keeps for both ends of a connection. */
  const answers = 30_000
  const wrong = JSON.stringify({ type: 'x'.repeat(64), id: 'i'.repeat(64) })

  it('is closed with 1013 when it reads at last', async () => {
    const limits = { maxLinkBacklogBytes: 65_536, stopGraceMs: 60_000 }
    const server = await LinkServer.start({ limits })
    try {
      const peer = await server.join()
      peer.ws.pause()
      for (let sent = 0; sent < answers; sent++) peer.ws.send(wrong)
      await until(() => peer.ws.bufferedAmount === 0)
      // What the system still holds is read by the server, in this process, turn by turn.
      for (let turn = 0; turn < 1000; turn++) await setImmediate()
      peer.ws.resume()
      expect(await peer.closed).to.deep.equal({ code: 1013, reason: 'the answers are not taken' })
      expect(peer.received.length).to.be.below(answers)
    } finally {
      await server.stop()
    }
  })
})
