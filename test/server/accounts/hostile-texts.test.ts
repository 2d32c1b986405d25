import { expect } from 'chai'
import fc from 'fast-check'
import { auth, password, type AccountsServer, withAccountsServer } from './harness.ts'

/** What means something to a database, a language, a terminal, a path or a log. */
const hostile = [
  "' OR 1=1--",
  "x'; DROP TABLE accounts; --",
  '"; DROP TABLE accounts; --',
  '%',
  '_____',
  'al%',
  '*',
  '${7*7}',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'a\u0000b',
  'a\ud800b',
  'a\u202eb',
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
  readonly open: boolean
}

const operations: readonly Operation[] = [
  {
    method: 'POST',
    path: `${auth}/register`,
    body: { username: 'bob', email: 'bob@studio.example', password, invite: 'inv_x' },
    open: true,
  },
  {
    method: 'POST',
    path: `${auth}/login`,
    body: { username: 'bob', password: 'wrong' },
    open: true,
  },
  { method: 'POST', path: `${auth}/refresh`, body: { refresh_token: 'srt_x' }, open: true },
  {
    method: 'POST',
    path: `${auth}/reset`,
    body: { username: 'bob', code: 'rst_x', new_password: password },
    open: true,
  },
  {
    method: 'PUT',
    path: `${auth}/password`,
    body: { current_password: 'wrong', new_password: password },
    open: false,
  },
  { method: 'POST', path: `${auth}/logout`, body: { all: false }, open: false },
  {
    method: 'POST',
    path: `${auth}/tokens`,
    body: { name: 'ci', scopes: ['read'], expires_in_days: 1 },
    open: false,
  },
]

const send = (
  { call }: AccountsServer,
  { method, path, open }: Operation,
  body: unknown,
  token: string,
) => call(method, path, { body, ...(open ? {} : { token }) })

/** No limit ends this early. */
const limits = { maxLoginFailures: 100_000 }

/** Everything is as it was: nothing was taken for more than text. */
async function expectUnharmed(registry: AccountsServer, accounts: number): Promise<void> {
  expect(await registry.store.listAccounts({ limit: 9 })).to.have.length(accounts)
  const body = { username: 'alice', password }
  expect((await registry.call('POST', `${auth}/login`, { body })).status).to.equal(200)
  expect(({} as Record<string, unknown>)['admin']).to.equal(undefined)
  expect(registry.logged.filter(({ level }) => level === 'error')).to.deep.equal([])
}

describe('text with a meaning in other formats', () => {
  it('is text in every member of every request', () =>
    withAccountsServer(
      async registry => {
        const { access_token } = await registry.register('alice')
        for (const operation of operations) {
          for (const member of Object.keys(operation.body)) {
            for (const text of hostile) {
              const body = { ...operation.body, [member]: text }
              // As a password, or as the name of a token, it is as good as any other.
              const { status } = await send(registry, operation, body, access_token)
              const what = `${operation.path} ${member} ${JSON.stringify(text.slice(0, 30))}`
              expect(status, what).to.be.oneOf([201, 401, 403, 409, 413, 422])
            }
          }
        }
        const { json } = await registry.call('GET', `${auth}/tokens`, { token: access_token })
        const names = json.tokens.map(({ name }: { name: string }) => name)
        expect(names).to.include(hostile[0])
        expect(names.join('')).not.to.match(/[\u0000-\u001f]/)
        const { length: accounts } = await registry.store.listAccounts({ limit: 9 })
        expect(accounts).to.be.at.most(2)
        await expectUnharmed(registry, accounts)
      },
      { limits },
    ))

  it('is text in every part of a path', () =>
    withAccountsServer(async registry => {
      const { access_token: token } = await registry.register('alice')
      for (const text of hostile.filter(text => text.isWellFormed() && text.length < 2000)) {
        const part = encodeURIComponent(text)
        for (const [method, path] of [
          ['DELETE', `${auth}/tokens/${part}`],
          ['GET', `${auth}/${part}`],
          ['GET', `/${part}`],
          ['GET', `${auth}/me?${part}=${part}`],
        ] as const) {
          const { status } = await registry.call(method, path, { token })
          expect(status, `${method} ${path}`).to.be.oneOf([
            404,
            ...(path.includes('?') ? [200] : []),
          ])
        }
      }
      await expectUnharmed(registry, 1)
    }))

  it('is no token, whatever it is', () =>
    withAccountsServer(
      async registry => {
        await registry.register('alice')
        const printable = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 300 })
        const begun = fc
          .tuple(fc.constantFrom('', 'svc_', 'srt_', 'eyJ', 'inv_'), printable)
          .map(parts => parts.join(''))
        await fc.assert(
          fc.asyncProperty(begun, async token => {
            const answer = await registry.call('GET', `${auth}/me`, { token })
            expect(answer.status).to.equal(401)
          }),
          { numRuns: 100 },
        )
        await expectUnharmed(registry, 1)
      },
      { limits },
    ))
})

describe('members that a request does not have', () => {
  for (const operation of operations) {
    it(`are refused by ${operation.method} ${operation.path}`, () =>
      withAccountsServer(async registry => {
        const { access_token, account } = await registry.register('alice')
        for (const name of ['is_admin', 'id', 'sub', 'account_id', 'kind', 'scope', 'created_at']) {
          const body = { ...operation.body, [name]: account.id }
          const answer = await send(registry, operation, body, access_token)
          expect([answer.status, answer.json.code], name).to.deep.equal([422, 'validation-failed'])
          expect(answer.json.errors[0].detail).to.include(`"${name}"`)
        }
        for (const name of ['__proto__', 'constructor']) {
          const written = JSON.stringify(operation.body)
          const body = `${written.slice(0, -1)},"${name}":{"admin":true}}`
          const answer = await send(registry, operation, body, access_token)
          expect([answer.status, answer.json.code], name).to.deep.equal([422, 'validation-failed'])
        }
        await expectUnharmed(registry, 1)
      }))
  }
})
