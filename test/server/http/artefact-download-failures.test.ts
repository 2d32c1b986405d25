import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { damage } from '../../unit/artefacts/support.ts'
import { ask, put, withServer } from './download-server.ts'

describe('artefact download that cannot complete', () => {
  it('cuts the connection before the end of a damaged body', () =>
    withServer(async ({ root, store, port, opened, log }) => {
      const hex = await put(store, randomBytes(2_000_000))
      damage(root, hex)
      const { isComplete, body } = await ask(port, hex)
      expect(log.lines).to.have.length(1)
      expect(isComplete).to.equal(false)
      expect(body.length).to.be.lessThan(2_000_000)
      expect(opened()).to.equal(0)
      expect((await ask(port, hex)).status).to.equal(404)
    }))

  it('returns 500 for a damaged small body', () =>
    withServer(async ({ root, store, port }) => {
      const hex = await put(store, randomBytes(1000))
      damage(root, hex)
      const { status, body } = await ask(port, hex)
      expect([status, JSON.parse(body.toString()).code]).to.deep.equal([500, 'artefact-corrupt'])
    }))

  it('returns 500 when the file system fails and logs the reason', () =>
    withServer(async ({ root, store, port, log }) => {
      const hex = await put(store, randomBytes(1000))
      const shard = join(root, 'sha256', hex.slice(0, 2))
      fs.rmSync(shard, { recursive: true })
      // Whatever is looked for in a link to itself fails with ELOOP.
      fs.symlinkSync(shard, shard)
      const { status, headers, body } = await ask(port, hex)
      const problem = JSON.parse(body.toString())
      expect([status, problem.code]).to.deep.equal([500, 'storage-failed'])
      expect(body.toString()).not.to.contain(root)
      expect(headers['x-content-type-options']).to.equal('nosniff')
      const [line, ...more] = log.lines.filter(({ level }) => level === 'error')
      expect(more).to.deep.equal([])
      expect(line?.text).to.contain('an artefact could not be sent').and.contain(hex)
    }))

  it('opens no body for answers without bytes', () =>
    withServer(async ({ store, port, sent }) => {
      const hex = await put(store, randomBytes(1000))
      const headers = { 'If-None-Match': `"${hex}"` }
      const short = [
        await ask(port, hex, { method: 'HEAD' }),
        await ask(port, hex, { headers }),
        await ask(port, hex, { headers: { Range: 'bytes=1000-' } }),
      ]
      expect(short.map(({ status }) => status)).to.deep.equal([200, 304, 416])
      expect(sent()).to.equal(0)
      expect((await ask(port, hex)).status).to.equal(200)
      expect(sent()).to.equal(1)
    }))

  it('closes the file when the client goes away', () =>
    withServer(async ({ store, port, opened, handled }) => {
      const hex = await put(store, randomBytes(30_000_000))
      const path = `/artefacts/sha256/${hex}`
      const req = request({ host: '127.0.0.1', port, path, agent: false }).end()
      const [res] = (await once(req, 'response')) as [IncomingMessage]
      expect(opened()).to.equal(1)
      res.on('error', () => {})
      res.destroy()
      await handled(1)
      expect(opened()).to.equal(0)
    }))

  it('closes the connection of a client that does not read', () =>
    withServer(async ({ store, port, opened, handled }) => {
      const hex = await put(store, randomBytes(30_000_000))
      const socket = connect(port, '127.0.0.1')
      socket.pause()
      socket.on('error', () => {})
      socket.write(`GET /artefacts/sha256/${hex} HTTP/1.1\r\nHost: x\r\n\r\n`)
      await handled(1)
      expect(opened()).to.equal(0)
      socket.destroy()
    }, 200))
})
