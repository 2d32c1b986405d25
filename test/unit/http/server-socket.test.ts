import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { ServerSocket } from '../../../src/server/http/server-socket.ts'
import { boundsWith } from '../../helpers/bounds.ts'

describe('ServerSocket', () => {
  const parts = { limits: boundsWith(), log: silentLogger }
  const handlers = { listener: (_req: unknown, res: { end(text: string): void }) => res.end('ok') }
  const host = '127.0.0.1'

  it('binds a port once its holder has stopped', async () => {
    const holder = new ServerSocket({ host, port: 0 }, parts)
    await holder.bind(handlers)
    const { port, url } = holder
    expect(url).to.equal(`http://${host}:${port}`)

    const socket = new ServerSocket({ host, port }, parts)
    const failure: unknown = await socket.bind(handlers).catch((error: unknown) => error)
    expect(failure).to.include({ code: 'port_in_use' })

    await holder.stop()
    await socket.bind(handlers)
    expect(await (await fetch(socket.url)).text()).to.equal('ok')
    await socket.stop()
  })

  it('has the public address without the slashes at its end', async () => {
    const where = { host, port: 8765, publicUrl: 'https://studio.example/mcp//' }
    const socket = new ServerSocket(where, parts)
    expect(socket.url).to.equal('https://studio.example/mcp')
    await socket.stop()
  })
})
