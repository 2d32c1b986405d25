import { inspect } from 'node:util'
import { expect } from 'chai'
import { Secret } from '../../../src/lib/util/secret.ts'

describe('Secret', () => {
  const secret = new Secret('s3cr3t-ä')

  it('prints itself redacted, whatever the way', () => {
    const nested = { headers: { token: secret }, list: [secret] }
    for (const printed of [
      String(secret),
      `${secret}`,
      JSON.stringify(nested),
      inspect(nested, { depth: 9, showHidden: true }),
      inspect(secret, { customInspect: false, showHidden: true }),
      Object.entries(secret).join(),
      new Error(`wrong ${secret}`).message,
    ]) {
      expect(printed).not.to.contain('s3cr3t')
    }
  })

  it('says that something is there', () => {
    expect(JSON.stringify({ secret })).to.equal('{"secret":"[secret]"}')
    expect(inspect({ secret })).to.equal('{ secret: [secret] }')
    expect(`${secret}`).to.equal('[secret]')
  })

  it('reveals its text on request', () => expect(secret.reveal()).to.equal('s3cr3t-ä'))

  for (const [text, equal] of [
    ['s3cr3t-ä', true],
    ['s3cr3t-a', false],
    ['S3CR3T-Ä', false],
    ['s3cr3t-', false],
    ['s3cr3t-ä ', false],
    ['', false],
  ] as const) {
    it(`${equal ? 'equals' : 'differs from'} "${text}"`, () => {
      expect(secret.equals(text)).to.equal(equal)
    })
  }

  it('refuses to be empty', () => expect(() => new Secret('')).to.throw(TypeError))
})
