import { expect } from 'chai'
import { inspect } from 'node:util'
import * as wire from '../../../src/lib/accounts/wire.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { freePort } from '../../helpers/free-port.ts'
import { clientOf, expectNoLeak, jwt, sendJson, thrownBy, startAnswering } from './support.ts'

const token = 'svc_THE-TOKEN-OF-THIS-TEST'
const password = 'The Password Of This Test'
const alice = { username: 'alice', email: 'alice@studio.example' }

/** Both kinds of secret, in a header and in a body. */
async function failures(url: string, timeoutMs?: number) {
  const client = clientOf(url, {}, timeoutMs)
  const found = [
    await thrownBy(() => client.me(new Secret(token))),
    await thrownBy(() => client.login('alice', new Secret(password))),
  ]
  return found.map(error => expectNoLeak(error, [token, password]))
}

describe('the client of an accounts server', () => {
  it('takes the lifetime before the time in the token, and hides both tokens', async () => {
    const answer = {
      access_token: jwt(1_900_000_000_000),
      token_type: 'Bearer',
      expires_in: 60,
      refresh_token: 'srt_1',
      refresh_expires_in: 120,
      scope: 'account read',
      later: { members: true },
    }
    const { url, requests } = await startAnswering((_, res) => sendJson(res, 201, answer))
    const before = Date.now()
    const invite = new Secret('inv_1')
    const login = await clientOf(url).register(alice, new Secret(password), invite)
    expect(requests).to.have.length(1)
    expect(wire.registerRequest.safeParse(requests[0]?.body).success).to.equal(true)
    expect(login?.access_expires_at).to.be.within(before + 60_000, Date.now() + 60_000)
    expect(login?.refresh_expires_at).to.be.within(before + 120_000, Date.now() + 120_000)
    expect(login?.refresh_token?.reveal()).to.equal('srt_1')
    expect(inspect(login)).to.not.include('srt_1')
  })

  it('takes an answer with nothing but an access token, and reads its end in the token', async () => {
    const { url } = await startAnswering((_, res) =>
      sendJson(res, 200, { access_token: jwt(1_900_000_000_000), token_type: 'bearer' }),
    )
    const login = await clientOf(url).login('alice', new Secret(password))
    expect(login).to.include({ access_expires_at: 1_900_000_000_000, refresh_token: undefined })
  })

  for (const answer of ['null', '{}', '{"access_token":"a\\nb"}', '<html>It works!</html>', '']) {
    it(`says registry_answer_invalid for the answer ${answer || 'without a body'}`, async () => {
      const { url } = await startAnswering((_, res) => void res.end(answer))
      for (const failure of await failures(url)) {
        expect(failure.code).to.equal('registry_answer_invalid')
      }
    })
  }

  it('removes control characters from what the server says', async () => {
    const { url } = await startAnswering(({ path }, res) => {
      const evil = '\u001b[2J\u001b]0;owned\u0007al\u202eice\r\n'
      if (path.endsWith('/me')) sendJson(res, 200, { username: evil, email: `${evil}@x` })
      else sendJson(res, 409, { detail: `${evil} is taken` })
    })
    expect((await clientOf(url).me(new Secret(token))).username).to.equal('al ice')
    const error = await thrownBy(() => clientOf(url).login('a', new Secret(password)))
    expect(expectNoLeak(error, []).message).to.equal(`${url} refused: al ice is taken`)
  })

  const statuses: [status: number, code: string][] = [
    [401, 'auth_refused'],
    [404, 'request_refused'],
    [429, 'rate_limited'],
    [500, 'registry_failed'],
  ]
  for (const [status, code] of statuses) {
    it(`says ${code} for ${status}`, async () => {
      const { url } = await startAnswering((_, res) =>
        sendJson(res, status, { code: 'some-reason', detail: 'no' }),
      )
      for (const failure of await failures(url)) {
        expect(failure.code).to.equal(code)
        expect(failure.message).to.equal(`${url} refused: no`)
        expect(failure.data).to.include({ reason: 'some-reason' })
      }
    })
  }

  it('does not follow a redirect', async () => {
    const other = await startAnswering((_, res) => sendJson(res, 200, { username: 'mallory' }))
    const { url } = await startAnswering((_, res) =>
      res.writeHead(307, { Location: `${other.url}/api?token=${token}` }).end(),
    )
    for (const failure of await failures(url)) {
      expect(failure.code).to.equal('registry_answer_invalid')
      expect(failure.hint).to.equal(`if it moved, use ${other.url}`)
    }
    expect(other.requests).to.deep.equal([])
  })

  it('says network_failed when nothing listens', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    for (const failure of await failures(url)) {
      expect(failure.code).to.equal('network_failed')
      expect(failure.message).to.equal(
        `${url} cannot be reached: connection refused (ECONNREFUSED)`,
      )
    }
  })

  it('says net_timeout when no answer comes, or one that never ends', async () => {
    const { url } = await startAnswering(
      ({ path }, res) => void (path.endsWith('/me') && res.writeHead(200).write('{')),
    )
    for (const failure of await failures(url, 300)) {
      expect(failure.code).to.equal('net_timeout')
      expect(failure.message).to.equal(`${url} did not answer in time`)
    }
  })

  it('repeats a GET twice after a cut connection, and a POST never', async () => {
    const { url, requests } = await startAnswering((_, res) => res.destroy())
    await failures(url)
    const asked = requests.map(({ path }) => path.split('/').at(-1))
    expect(asked).to.deep.equal(['me', 'me', 'me', 'login'])
  })
})
