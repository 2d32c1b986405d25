import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { artefactPutBytes, artefactRootIn } from '../../src/server/artefacts/helpers.ts'
import { RawSession } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { BlobRead } from './artefact-bytes.ts'
import { RawSocket, requestText } from '../process/raw-socket.ts'
import { until } from '../helpers/until.ts'

const MiB = 1024 * 1024

describe('a reader that stops reading', () => {
  let serve: ServeProcess
  let session: RawSession
  let hex: string

  before(async () => {
    const bounds = ['--bound=streamStallMs=2000', '--bound=bodyTimeoutMs=2000']
    serve = await startServeProcess({ flags: [...bounds, '--limit=streamKeepAliveMs=100'] })
    session = await RawSession.open(serve.url)
    // Not over the host link: on a busy machine an upload may stall for these two seconds.
    const root = artefactRootIn(serve.registryDir)
    hex = (await artefactPutBytes(randomBytes(48 * MiB), { root })).digest.slice('sha256:'.length)
  })

  const openBodies = () => serve.openFiles().filter(path => path.includes('dcc-mcp-artefacts'))

  const sockets = () => serve.openFiles().filter(path => path.startsWith('socket:'))

  it('of an artefact or a download holds its file open for a bounded time only', async () => {
    const read = new BlobRead(serve, session.id, `artefact://sha256/${hex}`)
    await until(() => read.bytes > 0, 'the first bytes')
    read.pause()
    await until(() => openBodies().length === 0, 'the server gave it up')
    read.resume()
    expect(await read.answer()).to.include({ whole: false })
    const raw = await RawSocket.open(serve.port)
    raw.write(requestText([`GET /artefacts/sha256/${hex} HTTP/1.1`, 'Host: localhost']))
    await until(() => raw.received.length > 0, 'the first bytes')
    raw.socket.pause()
    await until(() => openBodies().length === 0, 'the server gave it up')
    raw.close()
  })

  it('of pipelined answers does not make them pile up', async () => {
    await serve.post('scene', { text: 'x'.repeat(4 * MiB) })
    const body =
      '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"scene://current"}}'
    const request = requestText(
      [
        'POST /mcp HTTP/1.1',
        'Host: localhost',
        'Content-Type: application/json',
        `Mcp-Session-Id: ${session.id}`,
        `Content-Length: ${body.length}`,
      ],
      body,
    )
    await session.readJson('scene://current')
    serve.resetPeak()
    const before = serve.rss().now
    const idle = sockets().length
    const raw = await RawSocket.open(serve.port)
    raw.socket.pause()
    raw.write(request.repeat(1000))
    // Before that the server has cut the connection: too many requests wait on it.
    await session.readJson('scene://current')
    raw.socket.resume()
    await until(() => raw.closed, 'the end of the connection')
    expect(sockets()).to.have.lengthOf(idle)
    expect(serve.rss().peak - before).to.be.below(100 * MiB)
    await serve.post('scene', 'null')
  })

  it('that takes a little now and then is served to the end', async () => {
    const read = new BlobRead(serve, session.id, `artefact://sha256/${hex}`)
    while (read.bytes < 40 * MiB) {
      const sofar = read.bytes
      await until(() => read.bytes > sofar, 'more bytes')
      read.pause()
      await session.call('ping')
      read.resume()
    }
    expect(await read.answer()).to.include({ sha256: hex, whole: true })
  })

  it('does not cost those who listen their stream', async () => {
    const events = await session.listen()
    await session.call('resources/subscribe', { uri: 'scene://current' })
    const read = new BlobRead(serve, session.id, `artefact://sha256/${hex}`)
    await until(() => read.bytes > 0, 'the first bytes')
    read.pause()
    // By then the stream has been silent for longer than the stalled reader was let live.
    await until(() => openBodies().length === 0, 'the server gave the reader up')
    await serve.post('scene', { a: 1 })
    await events.until(() => events.updates.includes('scene://current'))
    events.close()
  })
})
