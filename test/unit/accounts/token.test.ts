import { expect } from 'chai'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { parseToken, readGivenToken, tokenExpiry } from '../../../src/lib/accounts/token.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { failureOf } from '../../helpers/failure.ts'
import { withFolder } from '../../helpers/folder.ts'

describe('readGivenToken', () => {
  const read = async (path: string) => {
    return (await readGivenToken(undefined, { SERVICE_TOKEN_FILE: path }))?.token.reveal()
  }

  it('refuses a file that others can change, and speaks of a token', () =>
    withFolder(async folder => {
      const path = join(folder, 'token')
      writeFileSync(path, 'svc_3\n')
      chmodSync(path, 0o646)
      const failure = await failureOf(() => read(path))
      expect(failure.message).to.include(`SERVICE_TOKEN_FILE ${path} is open to other users`)
      chmodSync(path, 0o600)
      for (const text of ['', '\ufeff \n', 'svc_3 svc_4']) {
        writeFileSync(path, text)
        const { code, message, hint } = await failureOf(() => read(path))
        expect(code).to.equal('config_invalid')
        expect(message).to.include(`SERVICE_TOKEN_FILE ${path} `)
        expect(hint).to.include('token').and.not.include('random')
      }
    }))
})

describe('parseToken', () => {
  for (const text of ['svc_ab cd', 'svc_\u00e4', '\u001b[31msvc_', 'Bearer ']) {
    it(`names the place and not the text of ${JSON.stringify(text)}`, async () => {
      const failure = await failureOf(async () => parseToken(text, '--token'))
      expect(failure.code).to.equal('config_invalid')
      expect(failure.message).to.include('--token')
      expect(inspect(failure)).to.not.include('svc_')
    })
  }
})

describe('tokenExpiry', () => {
  const jwt = (claims: string) => `e30.${Buffer.from(claims).toString('base64url')}.c2ln`
  const cases: [token: string, ms: number | undefined][] = [
    [jwt('{"exp":1800000000.5}'), 1_800_000_000_500],
    [jwt('{"exp":"soon"}'), undefined],
    [jwt('{"exp":1e308}'), undefined],
    [jwt('[1]'), undefined],
    [jwt('not json'), undefined],
    ['svc_opaque', undefined],
  ]
  for (const [token, ms] of cases) {
    it(`is ${ms} for ${token}`, () => expect(tokenExpiry(new Secret(token))).to.equal(ms))
  }
})
