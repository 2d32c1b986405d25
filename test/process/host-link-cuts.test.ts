import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { RawSession } from '../helpers/mcp.ts'
import { frameOf, handshakeOf, opcodes, RawLink } from '../helpers/raw-link.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { expectHealthy, recordOf } from './host-link-health.ts'
import { until } from '../helpers/until.ts'

const KiB = 1024

/** How the connection goes. */
const ends = { FIN: (link: RawLink) => link.end(), RST: (link: RawLink) => link.reset() }

describe('a link that is cut', () => {
  let serve: ServeProcess

  let idle = 0

  const sockets = () => serve.openFiles().filter(path => path.startsWith('socket:')).length

  before(async () => {
    serve = await startServeProcess({ flags: ['--bound=linkHelloMs=60000'] })
    await expectHealthy(serve)
    idle = sockets()
  })

  afterEach(() => expectHealthy(serve))

  after(async () => {
    await until(() => sockets() <= idle, 'every socket is closed')
    await until(async () => !(await recordOf(serve)).host.connected, 'the record says so')
    const { code, stderr } = await serve.stop()
    expect(code).to.equal(0)
    expect(stderr).not.to.match(/"level":"error"|\n\s+at /)
  })

  const message = JSON.stringify({ type: 'scene.set', scene: { text: 'x'.repeat(10_000) } })

  for (const [name, cut] of Object.entries(ends)) {
    it(`by ${name} in the middle of a frame changes nothing`, async () => {
      const session = await RawSession.open(serve.url)
      const before = await session.call('resources/read', { uri: 'scene://current' })
      const frame = frameOf(message)
      for (const bytes of [1, 2, 3, 7, 100, frame.length - 1]) {
        const link = await RawLink.connect(serve)
        link.write(frame.subarray(0, bytes))
        await drained(link)
        cut(link)
        await link.until(() => link.ended, 'the end')
      }
      const { result } = await session.call('resources/read', { uri: 'scene://current' })
      expect(result).to.deep.equal(before.result)
      await session.delete()
    })

    it(`by ${name} between two fragments changes nothing`, async () => {
      const link = await RawLink.connect(serve)
      link.write(frameOf(message.slice(0, 500), { fin: false }))
      link.write(frameOf(message.slice(500, 900), { opcode: opcodes.more, fin: false }))
      await drained(link)
      cut(link)
      await link.until(() => link.ended, 'the end')
    })

    it(`by ${name} in the middle of an artefact leaves nothing of it`, async () => {
      const session = await RawSession.open(serve.url)
      const listed = async () => (await session.call('resources/list')).result.resources
      const before = await listed()
      const link = await RawLink.connect(serve)
      const size = 1024 * KiB
      link.text({ type: 'artefact.put', id: 'a', mime: 'image/png', size })
      const piece = frameOf(randomBytes(256 * KiB), { opcode: opcodes.binary })
      link.write(piece)
      link.write(piece)
      link.write(piece.subarray(0, 1000))
      await until(async () => (await temporary(serve)).length === 1, 'the upload has begun')
      cut(link)
      await until(async () => (await temporary(serve)).length === 0, 'the upload is undone')
      expect(await listed()).to.deep.equal(before)
      expect(serve.openFiles().filter(path => path.includes('dcc-mcp'))).to.deep.equal([])
      await session.delete()
    })

    it(`by ${name} in the middle of the handshake is forgotten`, async () => {
      const request = handshakeOf(serve)
      for (const bytes of [1, 20, request.length - 2]) {
        const link = await RawLink.dial(serve)
        link.write(request.slice(0, bytes))
        await drained(link)
        cut(link)
        await link.until(() => link.ended, 'the end')
      }
    })

    it(`by ${name} before the hello, and inside it, is forgotten`, async () => {
      for (const bytes of [0, 1, 20]) {
        const link = await RawLink.open(serve)
        link.write(frameOf('{"type":"hello","protocol":[1]').subarray(0, bytes))
        cut(link)
        await link.until(() => link.ended, 'the end')
      }
    })
  }
})

/** All that was written is with the system. */
async function drained({ socket }: RawLink): Promise<void> {
  while (socket.writableLength > 0) await new Promise<void>(resolve => setImmediate(resolve))
}

async function temporary({ registryDir }: ServeProcess): Promise<string[]> {
  const root = join(registryDir, 'dcc-mcp-artefacts')
  const files = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
  return files
    .filter(
      file => file.isFile() && /te?mp/.test(`${file.parentPath}/${file.name}`.slice(root.length)),
    )
    .map(({ name }) => name)
}
