import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAccountHome } from '../helpers/account-home.ts'
import { failureOf } from '../helpers/in-process.ts'

describe('register', () => {
  it('says with which flag an invitation is given', async () => {
    const server = createServer((req, res) => {
      req.resume()
      res.writeHead(403, { 'Content-Type': 'application/problem+json' })
      res.end(JSON.stringify({ code: 'registration-closed', detail: 'by invitation alone' }))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const home = createAccountHome(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    try {
      const args = ['register', 'bob', '--email', 'bob@x.example', '--password', 'honest phrase']
      const failed = await failureOf(args, home.env())
      expect(failed?.text.exitCode).to.equal(3)
      expect(failed?.text.stderr).to.contain('by invitation alone').and.contain('--invite')
    } finally {
      server.closeAllConnections()
      server.close()
      home.remove()
    }
  })
})
