import { type EventEmitter, once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { connect, Socket } from 'node:net'
import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { type Handlers, ServerSocket } from '../../../src/server/http/server-socket.ts'
import { guardUpgrades, refuseUpgrade, type Upgrade } from '../../../src/server/http/upgrade.ts'
import { makeProblem } from '../../../src/server/http/problem.ts'
import { recordingLog } from '../../helpers/fakes.ts'
import { serverDefaults } from '../../../src/server/http/limits.ts'
import { until } from '../../helpers/until.ts'
import { atEnd } from '../../helpers/cleanup.ts'

/** So long that no test passes because of the cut at its end. */
const patient = { ...serverDefaults, stopGraceMs: 60_000 }

async function bound(handlers: Handlers, log = silentLogger) {
  const socket = new ServerSocket({ host: '127.0.0.1', port: 0 }, { limits: patient, log })
  await socket.bind(handlers)
  atEnd(() => socket.stop())
  return socket
}

describe('stop', () => {
  let listening: ServerSocket

  async function start(listener: RequestListener): Promise<void> {
    listening = await bound({ listener })
  }

  async function open(text = ''): Promise<Socket> {
    const socket = connect(listening.port, '127.0.0.1')
    atEnd(() => socket.destroy())
    await once(socket, 'connect')
    socket.write(text)
    return socket
  }

  const request = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'

  it('closes a connection on which more than 64 requests wait for their turn', async () => {
    const seen: ServerResponse[] = []
    await start((_req, res) => void seen.push(res))
    const waiting = await open(request.repeat(65))
    while (seen.length < 65) await new Promise(setImmediate)
    waiting.write(request)
    await once(waiting, 'close')
  })
})

describe('an error of the listening socket', () => {
  it('does not end the process, and is logged', async () => {
    const { lines, ...log } = recordingLog()
    const listener: RequestListener = ({ socket }, res) => {
      // How Node reports a failed accept. It cannot be brought about from outside on Linux.
      const server = Reflect.get(socket, 'server') as EventEmitter
      server.emit('error', Object.assign(new Error(), { code: 'ENOBUFS' }))
      res.end()
    }
    const listening = await bound({ listener }, log)
    const answer = await fetch(`http://127.0.0.1:${listening.port}/`)
    expect(answer.status).to.equal(200)
    await listening.stop()
    expect(lines.map(({ level }) => level)).to.deep.equal(['warn'])
    expect(lines[0]?.text).to.contain('a connection cannot be accepted')
  })
})

describe('a client that asks for an upgrade', () => {
  const head = 'Host: localhost\r\n\r\n'
  const asks = `GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n${head}`
  let listening: ServerSocket
  /** The sockets that left HTTP. */
  let given: Socket[]

  before(async () => {
    const refusing: Upgrade = (req, socket) => {
      if (given.push(socket) === 1) refuseUpgrade(req, makeProblem(403, 'no', 'no'))
    }
    const upgrades = guardUpgrades('/', refusing, { host: '127.0.0.1' })
    listening = await bound({ listener: () => {}, upgrades })
  })
  beforeEach(() => (given = []))

  async function open(text: string): Promise<Socket> {
    const socket = connect(listening.port, '127.0.0.1').on('error', () => {})
    await once(socket, 'connect')
    socket.write(text)
    return socket
  }

  it('is cut when it asks to leave HTTP before an earlier answer has left', async () => {
    const ask = async (text: string) => {
      const socket = await open(text)
      let answer = ''
      socket.setEncoding('latin1').on('data', piece => (answer += piece))
      await once(socket, 'close')
      return answer
    }
    expect(await ask(asks)).to.match(/^HTTP\/1\.1 403 /)
    expect(await ask(`GET / HTTP/1.1\r\n${head}${asks}`)).to.equal('')
  })

  it('does not end the process when it resets its connection while that is looked at', async () => {
    given.push(new Socket())
    const client = await open(asks)
    await until(() => given.length === 2, 'the upgrade')
    // Not `once` of node:events, which listens for errors as well.
    const closed = new Promise(resolve => given[1]?.once('close', resolve).resume())
    client.resetAndDestroy()
    await closed
  })
})
