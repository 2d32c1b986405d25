import { expect } from 'chai'
import type { ServerResponse } from 'node:http'
import { Secret } from '../../../src/lib/util/secret.ts'
import { freePort } from '../../helpers/free-port.ts'
import { clientOf, expectNoLeak, sendJson, thrownBy, withServer } from './support.ts'

const token = 'svc_THE-TOKEN-OF-THIS-TEST'
const password = 'The Password Of This Test'
const secrets = [token, password]

/** Both kinds of secret, in a header and in a body. */
async function failures(url: string, options: Parameters<typeof clientOf>[1] = {}) {
  const client = clientOf(url, options)
  const found = [
    await thrownBy(() => client.me(new Secret(token))),
    await thrownBy(() => client.login({ username: 'alice', password: new Secret(password) })),
    await thrownBy(() => client.refresh({ refreshToken: new Secret(token) })),
  ]
  return found.map(error => expectNoLeak(error, secrets))
}

describe('transport of the registry client', () => {
  it('says network_failed, without a secret, when nothing listens', async () => {
    const port = await freePort()
    for (const failure of await failures(`http://127.0.0.1:${port}`)) {
      expect(failure.code).to.equal('network_failed')
      expect(failure.message).to.equal(
        `http://127.0.0.1:${port} cannot be reached: connection refused (ECONNREFUSED)`,
      )
    }
  })

  it('says net_timeout when no answer comes, or one that never ends', () =>
    withServer(
      ({ path }, res) => void (path.endsWith('/me') && res.writeHead(200).write('{')),
      async ({ url, requests }) => {
        for (const failure of await failures(url, { limits: { requestTimeoutMs: 300 } })) {
          expect(failure.code).to.equal('net_timeout')
          expect(failure.message).to.equal(`${url} did not answer in time`)
          expect(failure.hint).to.equal('try again')
        }
        expect(requests).to.have.length(3)
      },
    ))

  it('says network_failed when the connection is cut before or in the answer', () =>
    withServer(
      ({ path }, res) => {
        if (path.endsWith('/me')) res.destroy()
        else {
          res.writeHead(200, { 'Content-Length': '1000' })
          res.write('{"access_token":', () => res.destroy())
        }
      },
      async ({ url }) => {
        for (const failure of await failures(url)) expect(failure.code).to.equal('network_failed')
      },
    ))

  it('says that TLS failed when a plain server is asked by https', () =>
    withServer(
      () => {},
      async ({ url }) => {
        for (const failure of await failures(url.replace('http:', 'https:'))) {
          expect(failure.code).to.equal('network_failed')
          expect(failure.message).to.include('TLS failed (')
        }
      },
    ))

  it('refuses an answer that is larger than its bound, and stops reading', () =>
    withServer(
      (_, res) => flood(res),
      async ({ url }) => {
        for (const failure of await failures(url, { limits: { maxAnswerBytes: 100_000 } })) {
          expect(failure.code).to.equal('registry_answer_invalid')
          expect(failure.message).to.include('larger than 100000 bytes')
        }
      },
    ))

  const statuses: [status: number, code: string][] = [
    [401, 'auth_refused'],
    [404, 'request_refused'],
    [408, 'registry_failed'],
    [429, 'rate_limited'],
    [500, 'registry_failed'],
    [501, 'request_refused'],
  ]
  for (const [status, code] of statuses) {
    it(`says ${code} for ${status}, also when the answer repeats the secrets`, () =>
      withServer(
        ({ authorization, body }, res) => {
          const text = `no: ${authorization} ${JSON.stringify(body)} ${body?.password}`
          const errors = [{ pointer: `/${body?.password ?? token}`, detail: text }]
          // Long enough that the text is cut somewhere in a secret.
          const detail = `${'x'.repeat(480)} ${token} ${password}`
          sendJson(res, status, {
            code: 'some-reason',
            title: text,
            detail,
            errors,
            instance: text,
          })
        },
        async ({ url }) => {
          for (const failure of await failures(url)) {
            expect(failure.code).to.equal(code)
            expect(failure.data).to.include({ status, reason: 'some-reason', registry: url })
            expectNoLeak(failure, ['svc_', 'The Pass'])
          }
        },
      ))
  }

  it('does not read a redirect as an answer, and sends nothing there', () =>
    withServer(
      (_, res) => sendJson(res, 200, { username: 'mallory' }),
      other =>
        withServer(
          (_, res) => res.writeHead(307, { Location: `${other.url}/api?token=${token}` }).end(),
          async ({ url }) => {
            for (const failure of await failures(url)) {
              expect(failure.code).to.equal('registry_answer_invalid')
              expect(failure.hint).to.equal(`if it moved, use ${other.url}`)
            }
            expect(other.requests).to.deep.equal([])
          },
        ),
    ))

  it('repeats a GET twice after a cut connection, and a POST never', () =>
    withServer(
      (_, res) => res.destroy(),
      async ({ url, requests }) => {
        const pauses: number[] = []
        await failures(url, { pauses })
        expect(requests.map(({ path }) => path.split('/').at(-1))).to.deep.equal([
          'me',
          'me',
          'me',
          'login',
          'refresh',
        ])
        expect(pauses).to.deep.equal([300, 600])
      },
    ))

  it('waits as long as Retry-After says, then gets its answer', async () => {
    let asked = 0
    await withServer(
      (_, res) => {
        if (++asked === 1) sendJson(res, 429, {}, { 'Retry-After': '7' })
        else sendJson(res, 200, { username: 'alice', email: 'a@x.example' })
      },
      async ({ url }) => {
        const pauses: number[] = []
        const me = await clientOf(url, { pauses }).me(new Secret(token))
        expect(me.username).to.equal('alice')
        expect(pauses).to.deep.equal([7000])
      },
    )
  })

  it('says at once how long to wait when that is too long', () =>
    withServer(
      (_, res) => sendJson(res, 429, { code: 'rate-limited' }, { 'Retry-After': '120' }),
      async ({ url, requests }) => {
        const pauses: number[] = []
        const [failure] = await failures(url, { pauses })
        expect(failure?.hint).to.equal('wait 120 s, then try again')
        expect(failure?.data).to.include({ retry_after: 120 })
        expect(requests).to.have.length(3)
        expect(pauses).to.deep.equal([])
      },
    ))
})

/** Sends for as long as anybody reads. */
function flood(res: ServerResponse): void {
  const piece = Buffer.alloc(65_536, 0x20)
  const more = () => {
    while (!res.destroyed && res.write(piece)) continue
    if (!res.destroyed) res.once('drain', more)
  }
  res.on('error', () => {})
  res.writeHead(200)
  more()
}
