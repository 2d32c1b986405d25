import { expect } from 'chai'
import { auth, outcome, password, sharedAccountsServer } from './harness.ts'

/** What means something to a database, a language, a terminal, a path or a log. */
const hostile = [
  "x'; DROP TABLE accounts; --",
  'al%',
  '../../etc/passwd',
  '__proto__',
  'a\u0000b',
  'a\r\nX: y',
  '\u001b[2J',
  '{"$ne":null}',
  'x'.repeat(5000),
]

const email = 'bob@studio.example'
/** Right in every member. */
const operations: [method: string, path: string, body: object][] = [
  ['POST', 'register', { username: 'bob', email, password, invite: 'inv_x' }],
  ['POST', 'login', { username: 'nobody', password: 'wrong' }],
  ['POST', 'refresh', { refresh_token: 'srt_x' }],
  ['POST', 'reset', { username: 'bob', code: 'rst_x', new_password: password }],
  ['PUT', 'password', { current_password: 'wrong', new_password: password }],
  ['POST', 'logout', { all: false }],
  ['POST', 'tokens', { name: 'ci', scopes: ['read'], expires_in_days: 1 }],
]

describe('text with a meaning in other formats', () => {
  const registry = sharedAccountsServer()
  let token: string
  let accountId: string

  before(async () => {
    const { access_token, account } = await registry.register('alice')
    token = access_token
    accountId = account.id
  })
  // No limit ends these early.
  beforeEach(() => void (registry.clock.nowMs += 60 * 60_000))
  afterEach('nothing was taken for more than text', async () => {
    const names = (await registry.store.listAccounts()).map(({ username }) => username)
    expect(names.filter(name => name !== 'bob')).to.deep.equal(['alice'])
    const body = { username: 'alice', password }
    expect((await registry.call('POST', `${auth}/login`, { body })).status).to.equal(200)
    expect(({} as Record<string, unknown>)['admin']).to.equal(undefined)
    expect(registry.logged.filter(({ level }) => level === 'error')).to.deep.equal([])
  })

  for (const [method, path, body] of operations) {
    it(`is text in every member of ${method} ${path}, and no further member`, async () => {
      for (const member of Object.keys(body)) {
        for (const text of hostile) {
          const sent = { ...body, [member]: text }
          const { status } = await registry.call(method, `${auth}/${path}`, { body: sent, token })
          // As a password, or as the name of a token, it is as good as any other.
          const what = `${member} ${JSON.stringify(text.slice(0, 30))}`
          expect(status, what).to.be.oneOf([201, 401, 403, 409, 413, 422, 429])
        }
      }
      for (const name of ['is_admin', 'sub', 'account_id', 'scope', '__proto__', 'constructor']) {
        const sent = `${JSON.stringify(body).slice(0, -1)},"${name}":"${accountId}"}`
        const answer = await registry.call(method, `${auth}/${path}`, { body: sent, token })
        expect(outcome(answer), name).to.deep.equal([422, 'validation-failed'])
        expect(answer.json.errors[0].detail).to.include(`"${name}"`)
      }
    })
  }

  it('is text in the name of a token that is shown', async () => {
    const { json } = await registry.call('GET', `${auth}/tokens`, { token })
    const names = json.tokens.map(({ name }: { name: string }) => name)
    expect(names).to.include(hostile[0])
    expect(names.join('')).not.to.match(/[\u0000-\u001f]/)
  })

  it('is text in every part of a path', async () => {
    for (const text of hostile.filter(text => text.length < 2000)) {
      const part = encodeURIComponent(text)
      for (const [method, path, status] of [
        ['DELETE', `${auth}/tokens/${part}`, 404],
        ['GET', `${auth}/${part}`, 404],
        ['GET', `${auth}/me?${part}=${part}`, 200],
      ] as const) {
        const answer = await registry.call(method, path, { token })
        expect(answer.status, `${method} ${path}`).to.equal(status)
      }
    }
  })

  it('is no token, whatever it is', async () => {
    for (const begin of ['', 'svc_', 'srt_', 'eyJ', 'eyJ.eyJ.', `srt_${'A'.repeat(63)}`]) {
      for (const sent of [`${begin}x`, `${begin}'--`, `${begin}${'é'.repeat(9)}`, `${begin}.`]) {
        const answer = await registry.call('GET', `${auth}/me`, { token: sent })
        expect(answer.status, sent).to.equal(401)
      }
    }
  })
})
