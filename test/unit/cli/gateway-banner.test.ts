import { expect } from 'chai'
import { type GatewayBannerFacts, renderGatewayBanner } from '../../../src/lib/cli/banner.ts'

const facts: GatewayBannerFacts = {
  url: 'http://127.0.0.1:9765/mcp',
  registryDir: '/tmp/service-cli-1000',
  acceptsJoins: false,
  keyed: false,
  loopback: true,
  page: null,
  colour: false,
  command: 'service-cli',
}

describe('renderGatewayBanner', () => {
  it('says whether instances of other machines can join', () => {
    expect(renderGatewayBanner(facts)).to.not.include('join')
    expect(renderGatewayBanner({ ...facts, acceptsJoins: true })).to.include('that join')
  })

  it('shows the link of the page whole, on a line of its own, and nothing without a page', () => {
    const page = `http://127.0.0.1:8765/#login=${'A'.repeat(43)}`
    const text = renderGatewayBanner({ ...facts, page })
    expect(text.split('\n')).to.include(`  ${page}`)
    expect(text).not.to.contain('service-cli page')
    expect(renderGatewayBanner(facts)).not.to.match(/page|login/i)
  })

  it('shows how a client of a user sends a token, and how one is made', () => {
    const text = renderGatewayBanner({ ...facts, tokens: true, accounts: true })
    expect(text).to.include('Bearer ${SERVICE_MCP_API_KEY}').and.include('token create NAME')
    expect(text.split('\n').every(line => line.length <= 80)).to.equal(true, text)
    // Clients of an OAuth provider log in themselves.
    expect(renderGatewayBanner({ ...facts, tokens: true })).to.not.include('Bearer')
  })

  for (const keyed of [false, true]) {
    it(`fits 80 columns ${keyed ? 'with' : 'without'} a key`, () => {
      for (const line of renderGatewayBanner({ ...facts, keyed }).split('\n')) {
        expect(line.length, line).to.be.at.most(80)
      }
    })
  }

  it('says which instances it shows, and to whom', () => {
    const text = renderGatewayBanner(facts)
    expect(text).to.contain(facts.url).and.contain(facts.registryDir)
    expect(text).to.contain('every account of this machine')
    expect(renderGatewayBanner({ ...facts, loopback: false })).to.contain('everyone who can reach')
    expect(renderGatewayBanner({ ...facts, keyed: true })).not.to.contain('No API key')
  })

  it('has escape codes only in colour', () => {
    expect(renderGatewayBanner(facts)).not.to.contain('\x1b')
    expect(renderGatewayBanner({ ...facts, colour: true })).to.contain('\x1b[1m')
  })
})
