import { expect } from 'chai'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { listKeys, rotateKeys } from '../../../../src/server/accounts/admin/signing-keys.ts'
import { failureOf } from '../../../helpers/failure.ts'
import { day } from '../support.ts'
import { withAdmin } from './support.ts'

const states = (list: Awaited<ReturnType<typeof listKeys>>, use: string) =>
  list.keys.filter(key => key.use === use).map(({ id, state }) => [id, state])

describe('administration of the signing keys', () => {
  it('puts the key into use that was published ahead, and shows no secret', () =>
    withAdmin(async ({ admin, files }) => {
      const before = states(await listKeys(admin), 'signing')
      const [active, next] = before.map(([id]) => id)
      const after = await rotateKeys(admin, { compromised: false })
      expect(states(after, 'signing').slice(0, 2)).to.deep.equal([
        [active, 'retired'],
        [next, 'active'],
      ])
      expect(states(after, 'refresh')).to.deep.equal([
        ['0', 'retired'],
        ['1', 'active'],
      ])
      const { signing, refresh } = JSON.parse(readFileSync(files.keys, 'utf8'))
      const shown = JSON.stringify(await listKeys(admin))
      for (const { jwk } of signing) expect(shown).not.to.contain(jwk.d)
      for (const { secret } of refresh) expect(shown).not.to.contain(secret)
    }))

  it('forgets no key, however old: how long tokens live is not known here', () =>
    withAdmin(async ({ admin, clock }) => {
      const [first] = states(await listKeys(admin), 'signing')
      await rotateKeys(admin, {})
      clock.advance(3650 * day)
      const after = await rotateKeys(admin, {})
      expect(states(after, 'signing')[0]).to.deep.equal([first?.[0], 'retired'])
    }))

  it('trusts no key of a file that others saw', () =>
    withAdmin(async ({ admin }) => {
      const before = (await listKeys(admin)).keys.map(key => key.id)
      const after = await rotateKeys(admin, { compromised: true })
      expect(after.keys.map(key => key.state)).to.deep.equal(['active', 'next', 'active'])
      expect(after.keys.filter(key => before.includes(key.id))).to.deep.equal([])
    }))

  it('makes no keys in place of lost or damaged ones', () =>
    withAdmin(async ({ admin, files }) => {
      writeFileSync(files.keys, '{}')
      expect((await failureOf(() => rotateKeys(admin, {}))).code).to.equal('config_invalid')
      rmSync(files.keys)
      expect((await failureOf(() => listKeys(admin))).message).to.contain('there is no key file')
    }))
})
