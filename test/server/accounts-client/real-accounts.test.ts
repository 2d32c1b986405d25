import { expect } from 'chai'
import { join } from 'node:path'
import { createConfigStore } from '../../../src/lib/config/config-store.ts'
import { withLogin } from '../../../src/lib/config/saved-logins.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { connectAccounts } from '../../../src/lib/accounts/connect.ts'
import { withSavedToken } from '../../../src/lib/accounts/session.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { type AccountsServer, withAccountsServer } from '../accounts/harness.ts'
import { withFolder } from '../../helpers/folder.ts'
import { expectNoLeak, accountsUrlOf, thrownBy } from './support.ts'

const password = new Secret('a long and honest phrase')
const account = { username: 'alice', email: 'alice@studio.example', password }
const hourMs = 3_600_000

function clientFor({ base, clock }: AccountsServer) {
  const server = accountsUrlOf(base)
  return connectAccounts({ server, entry: undefined, configPath: '/none', env: {}, clock })
}

describe('registry client and our registry', () => {
  it('makes every call and reads every answer', () =>
    withAccountsServer(async registry => {
      const client = clientFor(registry)
      const { accessToken, ...rest } = await client.register(account)
      expect(rest.accessExpiresAtMs).to.equal(registry.clock.nowMs + 24 * hourMs)
      expect(rest.refreshExpiresAtMs).to.equal(registry.clock.nowMs + 30 * 24 * hourMs)
      expect(await client.me(accessToken)).to.deep.include({
        username: 'alice',
        email: 'alice@studio.example',
        scopes: ['account', 'read', 'publish'],
      })

      const again = await client.refresh({ accessToken })
      expect(again.refreshToken).to.equal(undefined)
      if (rest.refreshToken === undefined) throw new Error('no refresh token')
      const rotated = await client.refresh({ refreshToken: rest.refreshToken })
      expect(rotated.refreshToken?.equals(rest.refreshToken.reveal())).to.equal(false)

      const wanted = { name: 'ci', scopes: ['publish'], expiresInDays: 7 }
      const made = await client.createToken(rotated.accessToken, wanted)
      const asService = await client.me(made.token)
      expect(asService.token?.name).to.equal('ci')
      expect((await client.listTokens(accessToken)).map(({ id }) => id)).to.deep.equal([made.id])
      await client.revokeToken(accessToken, made.id)
      const gone = expectNoLeak(await thrownBy(() => client.me(made.token)), [made.token.reveal()])
      expect(gone.code).to.equal('auth_refused')

      const next = new Secret('another long phrase')
      await client.changePassword(accessToken, { current: password, next })
      const login = await client.login({ username: 'alice', password: next })
      await client.logout(login.accessToken, { all: true })
      expectNoLeak(await thrownBy(() => client.me(accessToken)), [accessToken.reveal()])
      const after = expectNoLeak(await thrownBy(() => client.me(login.accessToken)), [])
      expect(after.code).to.equal('auth_refused')
    }))

  it('says what was wrong with the login, the name and the token', () =>
    withAccountsServer(async registry => {
      const client = clientFor(registry)
      await client.register(account)
      const wrong = new Secret('not the phrase at all')
      const secrets = [password.reveal(), wrong.reveal(), 'svc_nothing']
      const refused = [
        await thrownBy(() => client.login({ username: 'alice', password: wrong })),
        await thrownBy(() => client.register(account)),
        await thrownBy(() => client.register({ ...account, username: 'a!' })),
        await thrownBy(() => client.me(new Secret('svc_nothing'))),
        await thrownBy(() =>
          client.resetPassword({ username: 'alice', code: wrong, password: wrong }),
        ),
      ].map(error => expectNoLeak(error, secrets))
      expect(refused.map(({ code, data }) => `${code} ${data?.['reason']}`)).to.deep.equal([
        'auth_refused invalid-credentials',
        'request_refused account-exists',
        'request_refused validation-failed',
        'auth_refused token-invalid',
        'auth_refused invalid-credentials',
      ])
      expect(refused[2]?.message).to.include('username')
    }))

  it('stays logged in for thirty days, and then says so', () =>
    withAccountsServer(registry =>
      withFolder(async folder => {
        const { clock } = registry
        const client = clientFor(registry)
        const path = join(folder, 'service-cli', 'config.toml')
        const store = createConfigStore({ path, log: silentLogger, lockWaitMs: 5000 })
        const tokens = await client.register(account)
        await store.update(config => withLogin(config, registry.base, { ...account, ...tokens }))
        const parts = { client, store, log: silentLogger, refreshMarginMs: 300_000, clock }
        const whoami = async () => (await withSavedToken(parts, token => client.me(token))).username
        const saved = async () => (await store.read()).servers.get(registry.base)?.login

        clock.nowMs += 24 * hourMs - 60_000
        const names = await Promise.all(Array.from({ length: 4 }, whoami))
        expect(names).to.deep.equal(Array(4).fill('alice'))
        const first = await saved()
        expect(first?.accessToken?.equals(tokens.accessToken.reveal())).to.equal(false)

        // The laptop was closed for a week: only the refresh token is still good.
        clock.nowMs += 7 * 24 * hourMs
        expect(await whoami()).to.equal('alice')

        // Thirty days are over.
        clock.nowMs += 24 * 24 * hourMs
        const ended = expectNoLeak(await thrownBy(whoami), [])
        expect(ended.code).to.equal('auth_required')
        expect((await saved())?.accessToken).to.equal(undefined)
        expect((await saved())?.username).to.equal('alice')
      }),
    ))
})
