import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAccountHome } from '../helpers/account-home.ts'
import { failureOf } from '../helpers/in-process.ts'

describe('register', () => {
  it('says who makes an invitation code and where it is asked for', async () => {
    const server = createServer((req, res) => {
      req.resume()
      res.writeHead(403, { 'Content-Type': 'application/problem+json' })
      res.end(
        JSON.stringify({
          code: 'registration-closed',
          detail: 'registration is closed',
          errors: [{ pointer: '/invite', detail: 'is required' }],
        }),
      )
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const home = createAccountHome(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    try {
      const args = ['register', 'bob', '--email', 'bob@x.example', '--password', 'honest phrase']
      const failed = await failureOf(args, home.env())
      expect(failed?.text.exitCode).to.equal(3)
      expect(failed?.text.stderr).to.contain('is required').and.contain('registry users add')
    } finally {
      server.closeAllConnections()
      server.close()
      home.remove()
    }
  })
})
