import { expect } from 'chai'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import {
  findPortHolder,
  listeningInodes,
  programName,
  refuseForeignListeners,
} from '../../../src/lib/util/port-holder.ts'
import { skipBecause } from '../../helpers/skip.ts'

const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:223D 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1
   1: 0100007F:223D 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4712 1
   2: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1
`

describe('findPortHolder', () => {
  it('takes only listening sockets of the port from the table', () => {
    expect(listeningInodes(table, 8765)).to.deep.equal(['4711'])
    expect(listeningInodes(table, 80)).to.deep.equal(['4713'])
    expect(listeningInodes('', 80)).to.deep.equal([])
  })

  it('finds a listening process, and none after it stopped', async function () {
    if (process.platform !== 'linux') skipBecause(this, 'needs Linux')
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const holder = await findPortHolder(port)
    expect(holder?.pid).to.equal(process.pid)
    expect(holder?.program).to.match(/mocha|^node \S/)
    server.close()
    await once(server, 'close')
    expect(await findPortHolder(port)).to.equal(null)
  })
})

describe('programName', () => {
  const cases: [string, string][] = [
    ['service-cli', 'service-cli'],
    ['/usr/sbin/nginx -c /etc/secret', 'nginx'],
    ['/usr/bin/node --inspect /srv/app.js --token abc', 'node app.js'],
    ['python3.12 -m http.server 8765', 'python3.12 http.server'],
    ['vault --token=hvs.abc', 'vault'],
    ['/usr/bin/node\0/srv/app.js\0--token\0abc\0', 'node app.js'],
    ['node', 'node'],
    ['', 'a program without a name'],
    ['\u001b[2Jevil', 'evil'],
  ]
  for (const [line, name] of cases) {
    it(`shows ${JSON.stringify(line)} as ${name}`, () => expect(programName(line)).to.equal(name))
  }
})

describe('refuseForeignListeners', () => {
  it('fails a request whose server closes the connection at once', async () => {
    const server = createServer(socket => socket.end()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const agent = new Agent({ keepAlive: true })
    refuseForeignListeners(agent, () => new Error('foreign'))
    const { port } = server.address() as AddressInfo
    const request = get({ host: '127.0.0.1', port, agent })
    const [error] = await once(request, 'error').catch((reason: Error) => [reason])
    expect(error.code).to.equal('ECONNRESET')
    server.close()
  })
})
