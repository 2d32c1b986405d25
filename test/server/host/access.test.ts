import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Harness, bearer, json, smallBounds } from './harness.ts'
import { skipBecause } from '../../helpers/skip.ts'

const outerAddress = Object.values(networkInterfaces())
  .flatMap(addresses => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

describe('access to the host routes', () => {
  let host: Harness
  beforeEach(async () => (host = await Harness.start(smallBounds)))
  afterEach(() => host.stop())

  for (const path of [
    '/host/v1/scene',
    '/host/v1/app',
    '/host/v1/audit',
    '/host/v1/events/s',
    '/host/v1/artefacts',
    '/host/v1/nowhere',
  ]) {
    it(`returns 401 to ${path} without a token`, async () => {
      const answer = await host.post(path, '{}', { 'Content-Type': 'application/json' })
      expect(answer.status).to.equal(401)
      expect(answer.headers['www-authenticate']).to.equal('Bearer')
      expect(answer.headers['content-type']).to.equal('application/problem+json')
      expect(answer.body.code).to.equal('auth-required')
      const peer = '127.0.0.1'
      expect(host.refused).to.deep.equal([{ status: 401, reason: 'token_missing', peer }])
      host.expectNothingArrived()
    })
  }

  it('returns 401 to a wrong token without repeating it', async () => {
    const answer = await host.post('/host/v1/scene', '{}', {
      ...json,
      Authorization: 'Bearer wrong-and-private',
    })
    expect(answer.status).to.equal(401)
    expect(answer.headers['www-authenticate']).to.match(/^Bearer/)
    expect(answer.text).not.to.contain('wrong-and-private')
    expect(host.refused.map(({ reason }) => reason)).to.deep.equal(['token_wrong'])
    host.expectNothingArrived()
  })

  it('returns 403 to an Origin header, even with the token', async () => {
    for (const origin of ['http://localhost:8765', 'null', '']) {
      const answer = await host.post('/host/v1/scene', '{}', { ...json, Origin: origin })
      expect(answer.status).to.equal(403)
      expect(answer.body.code).to.equal('request-refused')
    }
    expect(host.refused.map(({ status }) => status)).to.deep.equal([403, 403, 403])
    host.expectNothingArrived()
  })

  it('returns 403 to a peer that is not on the loopback, even with the token', async function () {
    if (process.platform === 'win32')
      skipBecause(this, 'owners, modes and links need a POSIX system')
    const folder = await mkdtemp(join(tmpdir(), 'host-peer-'))
    const socketPath = join(folder, 'socket')
    const local = await Harness.start({}, { path: socketPath })
    const req = request({ socketPath, method: 'POST', path: '/host/v1/scene', headers: json })
    req.end('{}')
    const [res] = await once(req, 'response')
    res.resume()
    expect(res.statusCode).to.equal(403)
    const peer = 'unknown'
    expect(local.refused).to.deep.equal([{ status: 403, reason: 'peer_not_loopback', peer }])
    expect(local.sink.scenes).to.deep.equal([])
    await local.stop()
    await rm(folder, { recursive: true })
  })

  // Where a machine has no address but the loopback ones there is nothing to try.
  if (outerAddress !== undefined) {
    it('accepts a request from this machine to its other address', async () => {
      const outer = await Harness.start({}, { host: outerAddress })
      const answer = await outer.post('/host/v1/scene', '{}')
      expect(answer.status, answer.text).to.equal(200)
      await outer.stop()
    })
  }

  it('removes no artefact without the token', async () => {
    const path = `/host/v1/artefacts/${'0'.repeat(64)}`
    for (const headers of [{ Authorization: '' }, { Authorization: 'Bearer another' }]) {
      expect((await host.send('DELETE', path, headers)).status).to.equal(401)
    }
  })

  it('returns 405 with Allow to other methods', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await host.send(method, '/host/v1/scene', json)
      expect(answer.status).to.equal(405)
      expect(answer.headers.allow).to.equal('POST, PATCH')
    }
    expect(host.refused).to.deep.equal([])
  })

  it('returns 404 to unknown addresses', async () => {
    for (const path of [
      '/host/',
      '/host/v1',
      '/host/v1/scene/',
      '/host/v2/scene',
      '/host/v1/events/',
      '/host/v1/events/a/b',
      '/host/v1/events/../scene',
      '/host/v1/__proto__',
    ]) {
      expect((await host.post(path, '{}')).status, path).to.equal(404)
    }
  })

  it('returns 415 to JSON routes without application/json', async () => {
    for (const path of ['/host/v1/scene', '/host/v1/app', '/host/v1/audit', '/host/v1/events/s']) {
      for (const type of ['text/plain', 'application/jsonp', 'application/json; charset=latin1']) {
        const answer = await host.post(path, '{}', { ...bearer, 'Content-Type': type })
        expect(answer.status).to.equal(415)
      }
      expect((await host.post(path, '{}', bearer)).status).to.equal(415)
    }
    host.expectNothingArrived()
  })
})
