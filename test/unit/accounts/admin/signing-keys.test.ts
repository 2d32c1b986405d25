import { expect } from 'chai'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rotateKeys } from '../../../../src/server/accounts/admin/signing-keys.ts'
import { failureOf } from '../../../helpers/failure.ts'
import { day } from '../../../helpers/new-account.ts'
import { withAdmin } from './support.ts'

const states = ({ keys }: Awaited<ReturnType<typeof rotateKeys>>, use: string) =>
  keys.filter(key => key.use === use).map(({ id, state }) => [id, state])

const kidsIn = (file: string): string[] =>
  JSON.parse(readFileSync(file, 'utf8')).signing.map(({ kid }: { kid: string }) => kid)

describe('administration of the signing keys', () => {
  it('puts the key into use that was published ahead, and shows no secret', () =>
    withAdmin(async ({ admin, files }) => {
      const [active, next] = kidsIn(files.keys)
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
      const shown = JSON.stringify(after)
      for (const { jwk } of signing) expect(shown).not.to.contain(jwk.d)
      for (const { secret } of refresh) expect(shown).not.to.contain(secret)
    }))

  it('forgets no key, however old: how long tokens live is not known here', () =>
    withAdmin(async ({ admin, clock, files }) => {
      const [first] = kidsIn(files.keys)
      await rotateKeys(admin, {})
      clock.advance(3650 * day)
      const after = await rotateKeys(admin, {})
      expect(states(after, 'signing')[0]).to.deep.equal([first, 'retired'])
    }))

  it('trusts no key of a file that others saw', () =>
    withAdmin(async ({ admin, files }) => {
      const before = kidsIn(files.keys)
      const after = await rotateKeys(admin, { compromised: true })
      expect(after.keys.map(key => key.state)).to.deep.equal(['active', 'next', 'active'])
      expect(kidsIn(files.keys).filter(kid => before.includes(kid))).to.deep.equal([])
    }))

  it('makes no keys in place of lost or damaged ones', () =>
    withAdmin(async ({ admin, files }) => {
      writeFileSync(files.keys, '{}')
      expect((await failureOf(() => rotateKeys(admin, {}))).code).to.equal('config_invalid')
      rmSync(files.keys)
      const failure = await failureOf(() => rotateKeys(admin, {}))
      expect(failure.message).to.contain('there is no key file')
    }))
})
