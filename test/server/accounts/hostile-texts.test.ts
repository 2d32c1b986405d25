import { expect } from 'chai'
import fc from 'fast-check'
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

interface Operation {
  readonly method: string
  readonly path: string
  /** Right in every member. */
  readonly body: Readonly<Record<string, unknown>>
  readonly open?: boolean
}

const codeReset = { username: 'bob', code: 'rst_x', new_password: password }
const operations: readonly Operation[] = [
  {
    method: 'POST',
    path: 'register',
    body: { username: 'bob', email: 'bob@studio.example', password, invite: 'inv_x' },
    open: true,
  },
  { method: 'POST', path: 'login', body: { username: 'nobody', password: 'wrong' }, open: true },
  { method: 'POST', path: 'refresh', body: { refresh_token: 'srt_x' }, open: true },
  { method: 'POST', path: 'reset', body: codeReset, open: true },
  { method: 'PUT', path: 'password', body: { current_password: 'wrong', new_password: password } },
  { method: 'POST', path: 'logout', body: { all: false } },
  { method: 'POST', path: 'tokens', body: { name: 'ci', scopes: ['read'], expires_in_days: 1 } },
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

  const send = ({ method, path, open }: Operation, body: unknown) =>
    registry.call(method, `${auth}/${path}`, { body, token: open ? undefined : token })

  // No limit ends these early.
  beforeEach(() => void (registry.clock.nowMs += 60 * 60_000))

  /** Nothing was taken for more than text. */
  async function expectUnharmed(): Promise<void> {
    const names = (await registry.store.listAccounts()).map(({ username }) => username)
    expect(names.filter(name => name !== 'bob')).to.deep.equal(['alice'])
    const body = { username: 'alice', password }
    expect((await registry.call('POST', `${auth}/login`, { body })).status).to.equal(200)
    expect(({} as Record<string, unknown>)['admin']).to.equal(undefined)
    expect(registry.logged.filter(({ level }) => level === 'error')).to.deep.equal([])
  }

  for (const operation of operations) {
    it(`is text in every member of ${operation.method} ${operation.path}`, async () => {
      for (const member of Object.keys(operation.body)) {
        for (const text of hostile) {
          const { status } = await send(operation, { ...operation.body, [member]: text })
          // As a password, or as the name of a token, it is as good as any other.
          const what = `${member} ${JSON.stringify(text.slice(0, 30))}`
          expect(status, what).to.be.oneOf([201, 401, 403, 409, 413, 422, 429])
        }
      }
      await expectUnharmed()
    })

    it(`is no further member of ${operation.method} ${operation.path}`, async () => {
      for (const name of ['is_admin', 'sub', 'account_id', 'scope', '__proto__', 'constructor']) {
        const written = JSON.stringify(operation.body)
        const body = `${written.slice(0, -1)},"${name}":"${accountId}"}`
        const answer = await send(operation, body)
        expect(outcome(answer), name).to.deep.equal([422, 'validation-failed'])
        expect(answer.json.errors[0].detail).to.include(`"${name}"`)
      }
      await expectUnharmed()
    })
  }

  it('is text in the name of a token that is shown', async () => {
    const { json } = await registry.call('GET', `${auth}/tokens`, { token })
    const names = json.tokens.map(({ name }: { name: string }) => name)
    expect(names).to.include(hostile[0])
    expect(names.join('')).not.to.match(/[\u0000-\u001f]/)
  })

  it('is text in every part of a path', async () => {
    for (const text of hostile.filter(text => text.isWellFormed() && text.length < 2000)) {
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
    await expectUnharmed()
  })

  it('is no token, whatever it is', async () => {
    const printable = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 300 })
    const begun = fc
      .tuple(fc.constantFrom('', 'svc_', 'srt_', 'eyJ', 'inv_'), printable)
      .map(parts => parts.join(''))
    await fc.assert(
      fc.asyncProperty(begun, async sent => {
        const answer = await registry.call('GET', `${auth}/me`, { token: sent })
        expect(answer.status).to.equal(401)
      }),
      { numRuns: 100 },
    )
    await expectUnharmed()
  })
})
