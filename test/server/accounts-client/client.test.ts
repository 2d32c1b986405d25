import { expect } from 'chai'
import { inspect } from 'node:util'
import * as wire from '../../../src/lib/accounts/wire.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { clientOf, expectNoLeak, jwt, sendJson, thrownBy, withServer } from './support.ts'

const password = new Secret('The Password Of This Test')
const endMs = 1_900_000_000_000

describe('registry client', () => {
  it('takes the lifetime before the time in the token, and the refresh token', () => {
    const answer = {
      access_token: jwt(endMs),
      token_type: 'Bearer',
      expires_in: 60,
      refresh_token: 'srt_1',
      refresh_expires_in: 120,
      scope: 'account read',
      later: { members: true },
    }
    expect(wire.tokenResponse.safeParse(answer).success).to.equal(true)
    return withServer(
      (_, res) => sendJson(res, 201, answer),
      async ({ url, requests }) => {
        const before = Date.now()
        const invite = new Secret('inv_1')
        const account = { username: 'alice', email: 'a@x.example', password, invite }
        const tokens = await clientOf(url).register(account)
        expect(requests).to.have.length(1)
        expect(wire.registerRequest.safeParse(requests[0]?.body).success).to.equal(true)
        expect(tokens.accessExpiresAtMs).to.be.within(before + 60_000, Date.now() + 60_000)
        expect(tokens.refreshExpiresAtMs).to.be.within(before + 120_000, Date.now() + 120_000)
        expect(tokens.refreshToken?.reveal()).to.equal('srt_1')
        expect(inspect(tokens)).to.not.include('srt_1')
      },
    )
  })

  const useless: [what: string, status: number, body: unknown][] = [
    ['no token', 200, { token: 'x' }],
    ['a token with a line break', 200, { access_token: 'a\r\nX-Evil: 1' }],
    ['a token of 10 KB', 200, { access_token: 'a'.repeat(10_000) }],
    ['null', 200, null],
  ]
  for (const [what, status, body] of useless) {
    it(`says registry_answer_invalid for ${what} as the answer to a login`, () =>
      withServer(
        (_, res) => sendJson(res, status, body),
        async ({ url }) => {
          const run = () => clientOf(url).login({ username: 'a', password })
          const failure = expectNoLeak(await thrownBy(run), [password.reveal(), 'Evil'])
          expect(failure.code).to.equal('registry_answer_invalid')
          expect(failure.message).to.include('no usable access_token')
        },
      ))
  }

  it('says registry_answer_invalid for what is no JSON', () =>
    withServer(
      (_, res) => void res.writeHead(200).end('<html>It works!</html>'),
      async ({ url }) => {
        const failure = expectNoLeak(await thrownBy(() => clientOf(url).me(password)), [])
        expect(failure.code).to.equal('registry_answer_invalid')
      },
    ))

  it('finds no list of tokens in an answer without one, and a reset whose answer says nothing', () =>
    withServer(
      (_, res) => sendJson(res, 200, {}),
      async ({ url }) => {
        const failure = expectNoLeak(await thrownBy(() => clientOf(url).listTokens(password)), [])
        expect(failure.message).to.include('no list of tokens')
        const reset = { username: 'alice', code: new Secret('rst_1'), password }
        const ended = await clientOf(url).resetPassword(reset)
        expect(ended).to.deep.equal({ sessions: undefined, tokens: [] })
      },
    ))

  it('says that the account was made when only the login after it failed', () =>
    withServer(
      ({ path }, res) => {
        if (path.endsWith('/register')) res.writeHead(204).end()
        else sendJson(res, 401, { error: 'no' })
      },
      async ({ url }) => {
        const account = { username: 'alice', email: 'alice@x.example', password }
        const error = await thrownBy(() => clientOf(url).register(account))
        const failure = expectNoLeak(error, [password.reveal()])
        expect(failure.code).to.equal('auth_refused')
        expect(failure.message).to.include('the account was made, but not logged in')
        expect(failure.hint).to.equal(`log in with service-cli login alice --registry ${url}`)
      },
    ))

  it('cleans what the registry says of control characters', () =>
    withServer(
      ({ path }, res) => {
        const evil = '\u001b[2J\u001b]0;owned\u0007al\u202eice\r\n'
        if (path.endsWith('/me')) sendJson(res, 200, { username: evil, email: `${evil}@x` })
        else sendJson(res, 409, { detail: `${evil} is taken`, code: '\u001b[31m' })
      },
      async ({ url }) => {
        const me = await clientOf(url).me(password)
        expect(me.username).to.equal('al ice')
        const error = await thrownBy(() => clientOf(url).login({ username: 'a', password }))
        const failure = expectNoLeak(error, ['\u001b', '\u202e', '\u0007'])
        expect(failure.message).to.equal(`${url} refused the login: al ice is taken`)
        expect(failure.data).to.not.have.property('reason')
      },
    ))

  it('names the members that were refused', () =>
    withServer(
      (_, res) =>
        sendJson(res, 422, {
          code: 'validation-failed',
          detail: 'the request is not valid',
          errors: [
            { pointer: '/username', detail: 'is 3 to 64 letters' },
            { pointer: '/password', detail: 'has at least 8 characters' },
          ],
        }),
      async ({ url }) => {
        const failure = expectNoLeak(await thrownBy(() => clientOf(url).me(password)), [])
        expect(failure.message).to.equal(
          `${url} refused the look-up of the account: username is 3 to 64 letters; password has at least 8 characters`,
        )
      },
    ))

  it('refuses ids of tokens that would change the path', () =>
    withServer(
      (_, res) => void res.writeHead(204).end(),
      async ({ url, requests }) => {
        for (const id of ['..', '', 'a/b', 'a%2fb', '?x', 'x'.repeat(200)]) {
          const error = await thrownBy(() => clientOf(url).revokeToken(password, id))
          expect(expectNoLeak(error, []).code, id).to.equal('usage_invalid')
        }
        expect(requests).to.deep.equal([])
      },
    ))
})
