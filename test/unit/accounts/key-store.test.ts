import { expect } from 'chai'
import { calculateJwkThumbprint, jwtVerify, SignJWT } from 'jose'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { repeat } from '../../../src/lib/util/time.ts'
import { openFileKeys } from '../../../src/server/accounts/keys/file-keys.ts'
import { keyUpdater } from '../../../src/server/accounts/keys/key-store.ts'
import { type KeySet } from '../../../src/server/accounts/keys/key-ring.ts'
import { failureOf } from '../../helpers/failure.ts'
import { withFolder } from '../../helpers/folder.ts'
import { settableClock } from '../../helpers/settable-clock.ts'
import { day } from '../../helpers/new-account.ts'

const lifetimes = { accessTokenMs: day, refreshTokenMs: 30 * day }
const minute = 60_000

function withKeys(use: (options: ReturnType<typeof optionsFor>) => Promise<void>) {
  return withFolder(folder => use(optionsFor(join(folder, 'keys.json'))))
}

function optionsFor(file: string) {
  return { file, clock: settableClock(), lifetimes, rotationMs: 90 * day, busyMs: 20_000 }
}

const sign = ({ signing: { kid, alg, key } }: KeySet) =>
  new SignJWT({}).setProtectedHeader({ alg, kid }).sign(key)

async function isValid(token: string, keys: KeySet): Promise<boolean> {
  return jwtVerify(token, ({ kid = '' }) => keys.verifying.get(kid) ?? new Uint8Array(32), {
    algorithms: ['ES256'],
  }).then(
    () => true,
    () => false,
  )
}

describe('key store', () => {
  it('makes keys once, in a file for this user alone, and finds them again', () =>
    withKeys(async options => {
      const stores = await Promise.all([0, 1, 2].map(() => openFileKeys(options)))
      const kids = new Set(stores.map(store => store.current().signing.kid))
      expect(kids.size).to.equal(1)
      expect(fs.statSync(options.file).mode & 0o777).to.equal(0o600)
      expect((await openFileKeys(options)).current().signing.kid).to.equal([...kids][0])
      const failure = await failureOf(() =>
        openFileKeys({ ...options, file: `${options.file}2`, create: false }),
      )
      expect(failure.message).to.contain('there is no key file')
    }))

  it('publishes the key in use and the next one, by thumbprint, without what is secret', () =>
    withKeys(async options => {
      const store = await openFileKeys(options)
      const { jwks, signing } = store.current()
      expect(jwks.keys).to.have.length(2)
      for (const jwk of jwks.keys) {
        expect(jwk).to.have.all.keys('kty', 'crv', 'x', 'y', 'kid', 'alg', 'use')
        expect(jwk).to.include({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' })
        expect(await calculateJwkThumbprint(jwk)).to.equal(jwk.kid)
      }
      expect(jwks.keys[0]?.kid).to.equal(signing.kid)
      const printed =
        inspect(store.current(), { depth: 9 }) + JSON.stringify([store.current(), store.list()])
      const { signing: keys, refresh } = JSON.parse(fs.readFileSync(options.file, 'utf8'))
      for (const secret of [keys[0].jwk.d, keys[1].jwk.d, refresh[0].secret]) {
        expect(printed).to.not.contain(secret)
      }
    }))

  it('signs with the published key after a rotation; old tokens live until they expire', () =>
    withKeys(async options => {
      const store = await openFileKeys(options)
      const before = store.current()
      const token = await sign(before)
      const next = before.jwks.keys[1]?.kid
      await store.rotate()
      const after = store.current()
      expect(after.signing.kid).to.equal(next)
      expect(after.refresh.id).to.not.equal(before.refresh.id)
      expect(await isValid(await sign(after), before)).to.equal(true)
      options.clock.advance(day + 5 * minute)
      await store.update()
      expect(await isValid(token, store.current())).to.equal(true)
      expect(store.current().jwks.keys).to.have.length(3)
      options.clock.advance(1)
      await store.update()
      expect(await isValid(token, store.current())).to.equal(false)
      expect(store.current().jwks.keys).to.have.length(2)
      expect(fs.readFileSync(options.file, 'utf8')).to.not.contain(before.signing.kid)
      // Refresh tokens live longer.
      expect(store.current().refreshKeys.has(before.refresh.id)).to.equal(true)
      options.clock.advance(29 * day)
      await store.update()
      expect(store.current().refreshKeys.has(before.refresh.id)).to.equal(false)
    }))

  it('rotates by itself after 90 days, once for all who have it open', () =>
    withKeys(async options => {
      const stores = [await openFileKeys(options), await openFileKeys(options)]
      const kid = stores[0]?.current().signing.kid
      options.clock.advance(90 * day - 1)
      await Promise.all(stores.map(store => store.update()))
      expect(stores[0]?.current().signing.kid).to.equal(kid)
      options.clock.advance(1)
      await Promise.all(stores.map(store => store.update()))
      const facts = stores.map(store => store.list())
      expect(facts[0]).to.deep.equal(facts[1])
      expect(facts[0]?.map(({ use, state }) => `${use} ${state}`)).to.deep.equal([
        'signing retired',
        'signing active',
        'signing next',
        'refresh retired',
        'refresh active',
      ])
    }))

  it('follows a rotation by another process while it runs, and goes on when the file breaks', () =>
    withKeys(async options => {
      const store = await openFileKeys(options)
      const due: (() => void)[] = []
      const timer = {
        after: (_ms: number, run: () => void) => (due.push(run), () => void due.pop()),
      }
      const errors: string[] = []
      const log = { ...silentLogger, error: (_: object, text = '') => void errors.push(text) }
      const stop = repeat(timer, 1000, keyUpdater(store, log))
      const turn = async () => {
        due.pop()?.()
        for (let looks = 0; due.length === 0 && looks < 100_000; looks++) {
          await new Promise(resolve => setImmediate(resolve))
        }
        expect(due, 'it looks again').to.have.length(1)
      }
      const other = await openFileKeys(options)
      await other.rotate()
      await turn()
      expect(store.current().signing.kid).to.equal(other.current().signing.kid)

      const text = fs.readFileSync(options.file, 'utf8')
      fs.writeFileSync(options.file, text.slice(0, -20))
      for (let round = 0; round < 3; round++) await turn()
      expect(store.current().signing.kid).to.equal(other.current().signing.kid)
      expect(errors).to.have.length(1)
      expect(errors[0]).to.contain(`the key file ${options.file} is no JSON`)
      fs.writeFileSync(options.file, text, { mode: 0o600 })
      await other.rotate()
      await turn()
      expect(store.current().signing.kid).to.equal(other.current().signing.kid)
      stop()
      expect(due).to.deep.equal([])
    }))

  it('closes a file that others could read, with a warning', () =>
    withKeys(async options => {
      await openFileKeys(options)
      fs.chmodSync(options.file, 0o644)
      const warnings: string[] = []
      const log = { ...silentLogger, warn: (_: object, text = '') => void warnings.push(text) }
      await openFileKeys({ ...options, log })
      expect(fs.statSync(options.file).mode & 0o777).to.equal(0o600)
      expect(warnings).to.have.length(1)
      expect(warnings[0]).to.contain('rotate the keys')
    }))

  const damages: [what: string, damage: (file: any) => void, message: RegExp][] = [
    ['is of a newer version', file => (file.version = 2), /newer version/],
    ['has no key in use', file => (file.signing[0].state = 'next'), /0 signing keys in use/],
    [
      'has a foreign kid',
      file => (file.signing[0].kid = file.signing[1].kid),
      /not the one of its kid/,
    ],
    [
      'has a private key of another',
      file => (file.signing[0].jwk.d = file.signing[1].jwk.d),
      /invalid key/,
    ],
    ['has a wrong time', file => (file.refresh[0].created_at = 'soon'), /refresh\.0\.created_at/],
    [
      'has two of one number',
      file => file.refresh.push({ ...file.refresh[0], state: 'next' }),
      /one number/,
    ],
    ['has a short secret', file => (file.refresh[0].secret = 'short'), /refresh\.0\.secret/],
  ]
  for (const [what, damage, message] of damages) {
    it(`refuses a file that ${what}, quotes nothing of it and leaves it`, () =>
      withKeys(async options => {
        await openFileKeys(options)
        const file = JSON.parse(fs.readFileSync(options.file, 'utf8'))
        damage(file)
        const text = JSON.stringify(file)
        fs.writeFileSync(options.file, text)
        const failure = await failureOf(() => openFileKeys(options))
        expect(failure.code).to.equal('config_invalid')
        expect(failure.message).to.match(message).and.contain(options.file)
        const told = inspect(failure, { depth: 9 })
        for (const { jwk } of file.signing) expect(told).to.not.contain(jwk.d)
        expect(fs.readFileSync(options.file, 'utf8')).to.equal(text)
      }))
  }
})
