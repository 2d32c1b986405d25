import { expect } from 'chai'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { useBridges, json, result } from './bench.ts'

describe('what the bridge makes of HTTP', () => {
  const { connect, ends, scripted } = useBridges()

  it('goes by a proxy to other machines, and never to this one', async () => {
    const proxy = await scripted(({ body }, res) => json(res, result(body.id, { by: 'proxy' })))
    const direct = await scripted(({ body }, res) => json(res, result(body.id, { by: 'itself' })))
    const env = { http_proxy: `http://127.0.0.1:${proxy.port}` }
    const far = connect('http://studio.example/mcp', { env })
    expect((await far.call('ping')).result).to.deep.equal({ by: 'proxy' })
    expect(proxy.seen[0]?.headers.host).to.equal('studio.example')
    const near = connect(direct.url, { env })
    expect((await near.call('ping')).result).to.deep.equal({ by: 'itself' })
  })

  it('reports a port that is not a web server', async () => {
    const server = createServer(socket => void socket.on('error', () => {}).end('SSH-2.0-x\r\n'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    ends.push(async () => server.close())
    const { port } = server.address() as AddressInfo
    const { error } = await connect(`http://127.0.0.1:${port}/mcp`).call('ping')
    expect(error.message).to.contain('it is not a web server')
    const secure = await connect(`https://127.0.0.1:${port}/mcp`).call('ping')
    expect(secure.error.message).to.contain('cannot be reached: ')
    expect(secure.error.message).to.not.contain('undefined')
  })

  it('reports an answer that is cut', async () => {
    const endpoint = await scripted(({ body }, res) => {
      expect(body.method).to.equal('half')
      res.writeHead(200, { 'Content-Type': 'application/json' })
      res.write('{', () => res.destroy())
    })
    const client = connect(endpoint.url)
    expect((await client.call('half')).error.data.reason).to.equal('answer_incomplete')
  })

  it('sends a request again where a kept connection had just ended, but no tool call', async () => {
    let requests = 0
    // Takes one request on each connection, and cuts it off at the second.
    const server = createServer(socket => {
      let first = true
      socket.on('error', () => {})
      socket.on('data', chunk => {
        const text = chunk.toString('latin1')
        if (!text.includes('"jsonrpc"')) return
        requests++
        if (!first) return void socket.resetAndDestroy()
        first = false
        const { id } = JSON.parse(text.slice(text.indexOf('{"jsonrpc"')))
        const body = JSON.stringify(result(id, {}))
        const head = `Content-Type: application/json\r\nContent-Length: ${body.length}`
        socket.write(`HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n${head}\r\n\r\n${body}`)
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    ends.push(async () => server.close())
    const { port } = server.address() as AddressInfo
    const client = connect(`http://127.0.0.1:${port}/mcp`)
    for (let count = 0; count < 3; count++) {
      expect((await client.call('ping')).result).to.deep.equal({})
    }
    // The second went on the connection of the first, and then on one of its own.
    expect(requests).to.equal(4)
    const { error } = await client.call('tools/call', { name: 'render' })
    expect(error.data.reason).to.equal('server_unreachable')
    expect(requests).to.equal(5)
  })
})
