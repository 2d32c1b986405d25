import { expect } from 'chai'
import { createServer } from 'node:net'
import { BridgeClient, json, result, scripted } from './bench.ts'
import { listening } from '../../../helpers/listening.ts'

describe('what the bridge makes of HTTP', () => {
  it('goes by a proxy to other machines, and never to this one', async () => {
    const proxy = await scripted(({ body }, res) => json(res, result(body.id, { by: 'proxy' })))
    const direct = await scripted(({ body }, res) => json(res, result(body.id, { by: 'itself' })))
    const env = { http_proxy: `http://127.0.0.1:${proxy.port}` }
    const far = new BridgeClient('http://studio.example/mcp', { env })
    expect((await far.call('ping')).result).to.deep.equal({ by: 'proxy' })
    expect(proxy.seen[0]?.headers.host).to.equal('studio.example')
    const near = new BridgeClient(direct.url, { env })
    expect((await near.call('ping')).result).to.deep.equal({ by: 'itself' })
  })

  it('reports a port that is not a web server', async () => {
    const server = createServer(socket => void socket.on('error', () => {}).end('SSH-2.0-x\r\n'))
    const port = await listening(server)
    const { error } = await new BridgeClient(`http://127.0.0.1:${port}/mcp`).call('ping')
    expect(error.message).to.contain('it is not a web server')
    const secure = await new BridgeClient(`https://127.0.0.1:${port}/mcp`).call('ping')
    expect(secure.error.message).to.contain('cannot be reached: ')
    expect(secure.error.message).to.not.contain('undefined')
  })

  it('reports an answer that is cut', async () => {
    const endpoint = await scripted(({ body }, res) => {
      expect(body.method).to.equal('half')
      res.writeHead(200, { 'Content-Type': 'application/json' })
      res.write('{', () => res.destroy())
    })
    const client = new BridgeClient(endpoint.url)
    expect((await client.call('half')).error.data.reason).to.equal('answer_incomplete')
  })
})
