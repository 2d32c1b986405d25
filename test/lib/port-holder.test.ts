import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { findPortHolder, listeningInodes } from '../../src/lib/port-holder.ts'
import { skipBecause } from '../helpers/skip.ts'

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

  it('finds a process that listens, and nobody once it stopped', async function () {
    if (process.platform !== 'linux') skipBecause(this, 'needs Linux')
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const holder = await findPortHolder(port)
    expect(holder?.pid).to.equal(process.pid)
    expect(holder?.command).to.contain('mocha')
    server.close()
    await once(server, 'close')
    expect(await findPortHolder(port)).to.equal(null)
  })
})
