import { expect } from 'chai'
import { auth, password, withAccountsServer } from './harness.ts'

describe('logs and audit', () => {
  it('have no password, token or code in them, whatever goes wrong', () =>
    withAccountsServer(async registry => {
      const { call } = registry
      const made = await registry.register('alice')
      const service = (
        await call('POST', `${auth}/tokens`, { token: made.access_token, body: { name: 'ci' } })
      ).json
      const secrets = [
        password,
        'a secret that is wrong',
        'another honest phrase',
        'rst_0123456789abcdef',
        made.access_token,
        made.refresh_token,
        service.token,
      ]
      const token = made.access_token
      for (const secret of secrets) {
        const text = encodeURIComponent(secret)
        // A path is logged as it is, but for what looks like a token of ours.
        const path = secret.includes(' ') ? 'x' : text
        await call('GET', `/${path}?token=${text}`)
        await call('GET', `${auth}/me?access_token=${text}`, { token: secret.replaceAll(' ', '') })
        await call('DELETE', `${auth}/tokens/${path}`, { token })
        await call('POST', `${auth}/login`, { body: { username: 'alice', password: secret } })
        await call('POST', `${auth}/login`, { body: { username: secret.slice(0, 254), password } })
        await call('POST', `${auth}/login`, { body: `{"username":"x","${secret}` })
        await call('POST', `${auth}/refresh`, { body: { refresh_token: secret } })
        const code = { username: 'alice', code: secret, new_password: secret }
        await call('POST', `${auth}/reset`, { body: code })
        const change = { current_password: 'a secret that is wrong', new_password: secret }
        await call('PUT', `${auth}/password`, { token, body: change })
      }
      const written = JSON.stringify([registry.logged, registry.accessed, await registry.audited()])
      const parts = made.access_token.split('.')
      const shown = [...secrets, ...parts].filter(
        secret => written.includes(secret) || written.includes(encodeURIComponent(secret)),
      )
      expect(shown).to.deep.equal([])
    }))

  it('include unknown names, which may be passwords: none is stored', () => {
    const keys: string[] = []
    return withAccountsServer(
      async ({ call, register }) => {
        await register('alice')
        for (const username of [password, 'alice', password, 'nobody@studio.example']) {
          await call('POST', `${auth}/login`, { body: { username, password: 'wrong' } })
        }
        expect(keys[0]).to.match(/^\?[\w-]{43}$/)
        expect(keys).to.deep.equal([keys[0], 'alice', keys[0], keys[3]])
        expect(keys[3]).not.to.include('nobody')
      },
      {
        wrap: store => ({
          ...store,
          addFailure(key, ...rest) {
            keys.push(key)
            return store.addFailure(key, ...rest)
          },
        }),
      },
    )
  })

  it('have one line for each request, with nothing in it that a terminal acts upon', () =>
    withAccountsServer(async ({ call, accessed, audited }) => {
      const strange = 'x\u001b[31m","admin":true,"y":"\r\nfake'
      await call('POST', `${auth}/login`, { body: { username: strange, password } })
      await call('GET', `/${encodeURIComponent(strange)}`)
      expect(accessed.length).to.be.at.least(2)
      const text = JSON.stringify([accessed, await audited()])
      expect(text).not.to.match(/[\u0000-\u001f]/)
    }))
})
