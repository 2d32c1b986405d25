import { expect } from 'chai'
import { type AccountsBannerFacts, renderAccountsBanner } from '../../../src/lib/cli/banner.ts'

const facts: AccountsBannerFacts = {
  url: 'http://127.0.0.1:8780',
  registration: 'open',
  local: true,
  dataDir: '/home/a/.local/share/service-cli/registry',
  database: null,
  colour: false,
  command: 'service-cli',
}

describe('renderAccountsBanner', () => {
  it('fits 80 columns in every mode', () => {
    for (const registration of ['open', 'invite', 'closed'] as const) {
      for (const local of [true, false]) {
        const text = renderAccountsBanner({ ...facts, registration, local })
        for (const line of text.split('\n')) expect(line.length, line).to.be.at.most(80)
      }
    }
  })

  it('says where it is, where its data are, and who may make an account', () => {
    const text = renderAccountsBanner({ ...facts, registration: 'invite' })
    expect(text).to.include(facts.url).and.include(facts.dataDir).and.include('by invitation')
  })

  it('offers accounts elsewhere only where other machines reach it', () => {
    expect(renderAccountsBanner(facts)).to.include('Make an account, on this machine')
    expect(renderAccountsBanner({ ...facts, local: false })).to.include('here or elsewhere')
  })

  it('warns of passwords in the clear, unless it is this machine or behind TLS', () => {
    const warns = (changes: object) =>
      renderAccountsBanner({ ...facts, ...changes }).includes('unencrypted')
    expect(warns({})).to.equal(false)
    expect(warns({ local: false })).to.equal(true)
    expect(warns({ local: false, url: 'https://r.example' })).to.equal(false)
  })

  it('has no colour codes without a colour terminal', () => {
    expect(renderAccountsBanner(facts)).not.to.include('\u001b')
    expect(renderAccountsBanner({ ...facts, colour: true })).to.include('\u001b[1m')
  })
})
