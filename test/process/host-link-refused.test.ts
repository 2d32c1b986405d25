import { expect } from 'chai'
import { RawSession } from '../helpers/mcp.ts'
import { handshakeOf } from '../helpers/raw-link.ts'
import { LinkClient } from '../helpers/link.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { exchange } from './raw-socket.ts'
import { expectHealthy } from './host-link-health.ts'
import { until } from '../helpers/until.ts'

type Changes = Record<string, string | undefined>

const foreign = 'evil.example'

describe('who is not let in to the host link of the real program', () => {
  let serve: ServeProcess
  let session: RawSession

  before(async () => {
    serve = await startServeProcess()
    session = await RawSession.open(serve.url)
  })

  afterEach(() => expectHealthy(serve))

  after(async () => {
    const { code, stderr, stdout } = await serve.stop()
    expect(code).to.equal(0)
    expect(stderr + stdout).not.to.contain(serve.token)
    expect(stderr).not.to.match(/"level":"error"|\n\s+at /)
  })

  async function expectRefused(
    changes: Changes,
    status: number,
    code: string,
    path?: string,
  ): Promise<void> {
    const what = JSON.stringify(changes)
    const answer = await exchange(serve.port, handshakeOf(serve, changes, path))
    expect(answer?.status, what).to.equal(status)
    expect(answer?.headers['content-type'], what).to.match(/^application\/problem\+json/)
    const problem = JSON.parse(answer?.body ?? '')
    expect(problem, what).to.include({ status, code, type: `urn:service:problem:${code}` })
    expect(answer?.body).not.to.contain(serve.token)
    if (status === 401) expect(answer?.headers['www-authenticate'], what).to.match(/^Bearer/)
  }

  const refusals = async (): Promise<any[]> =>
    (await session.readJson('audit://recent?limit=500')).entries

  it('is told so: no token, or another one', async () => {
    const { token } = serve
    for (const given of [undefined, '', 'Bearer', 'Bearer ', `Basic ${token}`, token]) {
      await expectRefused({ Authorization: given }, 401, 'auth-required')
    }
    for (const given of ['x', `${token}x`, token.slice(1), token.toUpperCase(), `"${token}"`]) {
      await expectRefused({ Authorization: `Bearer ${given}` }, 401, 'auth-refused')
    }
    const bare = { Authorization: undefined }
    await expectRefused(bare, 401, 'auth-required', `/host?token=${token}`)
    await expectRefused({ ...bare, Cookie: `token=${token}` }, 401, 'auth-required')
  })

  it('is every web page, whatever it says of itself', async () => {
    const own = serve.base
    const origins = ['http://evil.example', 'null', '', own, 'http://localhost', 'file://', 'x y']
    for (const Origin of origins) await expectRefused({ Origin }, 403, 'request-refused')
  })

  it('is who reached it by another name', async () => {
    const names = [foreign, `${foreign}:${serve.port}`, '127.0.0.1.nip.io', '169.254.169.254']
    for (const Host of names) await expectRefused({ Host }, 403, 'request-refused')
    for (const Host of [`localhost:${serve.port}`, `127.0.0.1:${serve.port}`]) {
      const answer = await exchange(serve.port, handshakeOf(serve, { Host }))
      expect(answer?.status, Host).to.equal(101)
    }
  })

  it('is who does not speak the protocol', async () => {
    for (const offered of [undefined, '', 'mqtt', 'dcc-host.v2', 'DCC-HOST.V1', 'dcc-host.v1.x']) {
      await expectRefused({ 'Sec-WebSocket-Protocol': offered }, 400, 'body-invalid')
    }
    for (const key of [undefined, 'x', 'AAAA']) {
      await expectRefused({ 'Sec-WebSocket-Key': key }, 400, 'body-invalid')
    }
    await expectRefused({ 'Sec-WebSocket-Version': '12' }, 400, 'body-invalid')
    await expectRefused({ Upgrade: undefined, Connection: undefined }, 426, 'upgrade-required')
    const offered = 'mqtt, dcc-host.v1'
    const answer = await exchange(
      serve.port,
      handshakeOf(serve, { 'Sec-WebSocket-Protocol': offered }),
    )
    expect(answer?.status).to.equal(101)
    expect(answer?.headers['sec-websocket-protocol']).to.equal('dcc-host.v1')
    expect(answer?.headers).not.to.have.property('sec-websocket-extensions')
  })

  it('is asked for compression in vain', async () => {
    const changes = { 'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits' }
    const answer = await exchange(serve.port, handshakeOf(serve, changes))
    expect(answer?.status).to.equal(101)
    expect(answer?.headers).not.to.have.property('sec-websocket-extensions')
  })

  it('gets no link at any other address', async () => {
    for (const path of ['/host/', '/host/v1', '/mcp', '/', '/hosts']) {
      const answer = await exchange(serve.port, handshakeOf(serve, {}, path))
      expect(answer?.status, path).to.not.equal(101)
      // The page is at the root.
      if (path === '/') expect(answer?.status).to.equal(200)
      else if (path !== '/mcp') expect([404, 405], path).to.include(answer?.status)
    }
  })

  it('is written down once per second and peer, without the token', async () => {
    const earlier = (await refusals()).length
    // What was refused a moment ago counts for its second, too.
    await until(async () => {
      await expectRefused({ Authorization: 'Bearer wrong' }, 401, 'auth-refused')
      return (await refusals()).length > earlier
    }, 'a new entry')
    for (let number = 0; number < 50; number++) {
      await expectRefused({ Authorization: `Bearer wrong-${number}` }, 401, 'auth-refused')
      await expectRefused({ Origin: 'http://evil.example' }, 403, 'request-refused')
    }
    const written = await refusals()
    const times = written.map(({ timestamp }) => Date.parse(timestamp))
    for (let at = 1; at < times.length; at++) {
      expect(times[at]! - times[at - 1]!, written[at].timestamp).to.be.at.least(1000)
    }
    expect(JSON.stringify(written)).not.to.contain(serve.token).and.not.to.contain('wrong-')
  })

  it('does not disturb the one that is connected', async () => {
    const app = await LinkClient.connect(serve)
    for (let number = 0; number < 100; number++) {
      await expectRefused({ Authorization: 'Bearer x' }, 401, 'auth-refused')
    }
    await app.done({ type: 'scene.set', scene: { still: 'here' } })
    expect(await session.readJson('scene://current')).to.deep.equal({ still: 'here' })
    await app.bye()
  })

  it('is the seventeenth that has not said hello yet', async () => {
    const links = []
    for (let number = 0; number < 16; number++) links.push(await LinkClient.open(serve))
    await expectRefused({}, 429, 'limit-reached')
    for (const link of links) link.cut()
  })
})
