import { expect } from 'chai'
import { compactVerify } from 'jose'
import type { KeySet } from '../../../src/server/accounts/keys/key-ring.ts'
import { meCode, auth, type AccountsServer, withAccountsServer } from './harness.ts'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** The last character of 86 holds 4 bits that no byte needs. */
function spareBitTwins(token: string): string[] {
  const last = alphabet.indexOf(token.at(-1) ?? '')
  return [1, 8].map(bit => token.slice(0, -1) + (alphabet[last ^ bit] ?? ''))
}

/** The same token with `order - s` in the place of `s`: a signature that verifies as well. */
async function otherRoot(registry: AccountsServer, token: string): Promise<string> {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  const [head, body, signature = ''] = token.split('.')
  const hex = Buffer.from(signature, 'base64url').toString('hex')
  const s = (order - BigInt(`0x${hex.slice(64)}`)).toString(16).padStart(64, '0')
  const twin = Buffer.from(hex.slice(0, 64) + s, 'hex').toString('base64url')
  const [key] = registry.keys.current().verifying.values()
  await compactVerify(`${head}.${body}.${twin}`, key as KeySet['signing']['key'])
  return `${head}.${body}.${twin}`
}

describe('access tokens', () => {
  it('are refused in every other spelling of the signature, also where they are refreshed', () =>
    withAccountsServer(async registry => {
      const { access_token } = await registry.register('alice')
      const tokens = [access_token as string]
      // Half of all signatures have a large s before they are made canonical.
      for (let count = 0; count < 16; count++) {
        const fresh = await registry.call('POST', `${auth}/refresh`, { token: access_token })
        tokens.push(fresh.json.access_token)
      }
      for (const token of tokens) {
        expect(await meCode(registry, token)).to.equal('ok')
        for (const twin of spareBitTwins(token)) {
          expect(await meCode(registry, twin)).to.equal('token-invalid')
        }
      }
      const twin = await otherRoot(registry, access_token)
      expect(await meCode(registry, twin)).to.equal('token-invalid')
      const refreshed = await registry.call('POST', `${auth}/refresh`, { token: twin })
      expect(refreshed.json.code).to.equal('token-invalid')
    }))
})
