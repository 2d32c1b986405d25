import { expect } from 'chai'
import { randomUUID } from 'node:crypto'
import {
  type AccountsBannerFacts,
  type BannerFacts,
  type GatewayBannerFacts,
  renderAccountsBanner,
  renderBanner,
  renderGatewayBanner,
} from '../../../src/lib/cli/banner.ts'
import { entryName } from '../../../src/lib/mcp/settings/choose-target.ts'

const link = `http://127.0.0.1:8765/#login=${'A'.repeat(43)}`
const access = { keyed: false, loopback: true, page: null }
const shown = { colour: false, command: 'service-cli' }

function expectToFit(text: string): void {
  for (const line of text.split('\n')) expect(line.length, line).to.be.at.most(80)
}

describe('renderBanner', () => {
  const facts: BannerFacts = {
    ...access,
    ...shown,
    name: 'service-cli',
    url: 'http://127.0.0.1:8765/mcp',
    hostUrl: 'http://127.0.0.1:8765/host',
    hostTokenFile: '/tmp/s/i/t.token',
    capture: null,
    joins: [],
  }

  it('fits 80 columns with the token file of a real instance, whose path stays whole', () => {
    const hostTokenFile = `/tmp/service-cli-1000/instances/${randomUUID()}.token`
    for (const keyed of [false, true]) {
      const text = renderBanner({ ...facts, hostTokenFile, keyed })
      expectToFit(text)
      expect(text.split('\n')).to.include(`  ${hostTokenFile}`).and.include(`    ${hostTokenFile})`)
    }
  })

  it('shows the link of the page whole, on a line of its own, and nothing without a page', () => {
    const text = renderBanner({ ...facts, page: link })
    expect(text.split('\n')).to.include(`  ${link}`)
    expect(text).to.contain('later: service-cli page')
    expect(renderBanner(facts)).not.to.match(/page|login/i)
  })

  it('calls the server in settings as mcp-config does', () => {
    const text = renderBanner({ ...facts, name: entryName('blender') })
    expect(text).to.contain('--transport http blender http://').and.contain('{"blender":{')
    const unknown = renderBanner({ ...facts, name: entryName('unknown') })
    expect(unknown).to.contain('http service-cli http')
  })

  it('prints commands as they work where it was started', () => {
    const text = renderBanner({ ...facts, command: 'node bin/run.js' })
    for (const words of ['mcp-config', 'adapter blender', 'adapter python', 'keys create']) {
      expect(text).to.contain(`node bin/run.js ${words}`)
    }
    expect(text).not.to.match(/service-cli (?:mcp-config|adapter|keys)/)
  })

  it('says who can read what without a key, and how to set one', () => {
    const text = renderBanner(facts)
    expect(text).to.contain('every account of this machine can read')
    expect(text).to.contain('audit log, events and artefacts').and.not.contain('see the window')
    expect(text).to.contain('service-cli keys create')
    expect(renderBanner({ ...facts, loopback: false })).to.contain('everyone who can reach')
  })

  it('says what is asked for, a key by the name of its variable, or tokens', () => {
    const keyed = renderBanner({ ...facts, keyed: true })
    expect(keyed).to.contain('the host token, the API key').and.not.contain('No API key')
    // In quotes that keep a shell from putting the key itself into the client's file.
    expect(keyed).to.contain(`--header 'Authorization: Bearer \${SERVICE_MCP_API_KEY}'`)
    const tokens = renderBanner({ ...facts, tokens: true })
    expect(tokens).to.contain('the host token, access tokens').and.not.contain('No API key')
    expect(tokens).not.to.contain('SERVICE_MCP_API_KEY')
  })

  it('has client entries that are JSON', () => {
    for (const keyed of [false, true]) {
      const text = renderBanner({ ...facts, keyed })
      const entry = /^ +\{"mcpServers[^]*?\}\}\}\}?$/m.exec(text)?.[0] ?? ''
      expect(JSON.parse(entry)).to.have.nested.property('mcpServers.service-cli.url', facts.url)
    }
  })

  it('posts a scene, with a quoted token path or the variable', () => {
    const text = renderBanner({ ...facts, hostTokenFile: "/tmp/it's here" })
    expect(text).to.contain('http://127.0.0.1:8765/host/v1/scene')
    expect(text).to.contain(`$(cat \\\n    '/tmp/it'\\''s here')`)
    expect(renderBanner({ ...facts, hostTokenFile: null })).to.contain('TOKEN=$SERVICE_HOST_TOKEN')
  })

  const trouble = { message: 'there is no display', hint: 'start it in a desktop session' }
  const windows: [what: string, capture: BannerFacts['capture'], told: string][] = [
    ['switched off', null, 'clients cannot see it: window capture is off'],
    ['waiting', { way: null, waits: true, trouble: null }, 'waits for an application; then'],
    ['waiting in vain', { way: null, waits: true, trouble }, 'sends pictures itself: there is'],
    ['impossible', { way: null, waits: false, trouble }, 'there is no display; start it in a'],
    ['seen', { way: 'x11', waits: false, trouble: null }, 'clients can see it (x11)'],
  ]
  for (const [what, capture, told] of windows) {
    it(`says that the window is ${what}, in 80 columns`, () => {
      const text = renderBanner({ ...facts, capture })
      expectToFit(text)
      expect(text.replace(/\n +/g, ' ')).to.contain(told)
      expect(text.includes('can see the window')).to.equal(capture !== null)
      expect(renderBanner({ ...facts, capture, keyed: true })).not.to.contain('can see the window')
    })
  }

  it('has escape codes only in colour', () => {
    expect(renderBanner(facts)).not.to.contain('\x1b')
    expect(renderBanner({ ...facts, colour: true })).to.contain('\x1b[1m')
  })
})

describe('renderGatewayBanner', () => {
  const facts: GatewayBannerFacts = {
    ...access,
    ...shown,
    url: 'http://127.0.0.1:9765/mcp',
    registryDir: '/tmp/service-cli-1000',
    acceptsJoins: false,
  }

  it('says which instances it shows, and to whom, in 80 columns', () => {
    const text = renderGatewayBanner(facts)
    expect(text).to.contain(facts.url).and.contain(facts.registryDir).and.not.contain('join')
    expect(text).to.contain('every account of this machine')
    expectToFit(text)
    const joined = renderGatewayBanner({ ...facts, acceptsJoins: true, loopback: false })
    expect(joined).to.contain('that join').and.contain('everyone who can reach')
    const keyed = renderGatewayBanner({ ...facts, keyed: true })
    expect(keyed).not.to.contain('No API key')
    expectToFit(keyed)
  })

  it('shows the link of the page whole, on a line of its own', () => {
    const text = renderGatewayBanner({ ...facts, page: link })
    expect(text.split('\n')).to.include(`  ${link}`)
    expect(text).not.to.contain('service-cli page')
  })

  it('shows how a client of a user sends a token, and how one is made', () => {
    const text = renderGatewayBanner({ ...facts, tokens: true, accounts: true })
    expect(text).to.include('Bearer ${SERVICE_MCP_API_KEY}').and.include('token create NAME')
    expectToFit(text)
    // Clients of an OAuth provider log in themselves.
    expect(renderGatewayBanner({ ...facts, tokens: true })).to.not.include('Bearer')
  })
})

describe('renderAccountsBanner', () => {
  const facts: AccountsBannerFacts = {
    ...shown,
    url: 'http://127.0.0.1:8780',
    registration: 'open',
    local: true,
    dataDir: '/home/a/.local/share/service-cli/registry',
    database: null,
  }

  it('says where it is, where its data are, and who may make an account, in 80 columns', () => {
    const text = renderAccountsBanner({ ...facts, registration: 'invite' })
    expect(text).to.include(facts.url).and.include(facts.dataDir).and.include('by invitation')
    expect(text).to.include('Make an account, on this machine')
    for (const registration of ['open', 'invite', 'closed'] as const) {
      for (const local of [true, false]) {
        expectToFit(renderAccountsBanner({ ...facts, registration, local }))
      }
    }
  })

  it('warns of passwords in the clear, unless it is this machine or behind TLS', () => {
    const warns = (changes: object) =>
      renderAccountsBanner({ ...facts, ...changes }).includes('unencrypted')
    expect(warns({})).to.equal(false)
    expect(warns({ local: false })).to.equal(true)
    expect(warns({ local: false, url: 'https://r.example' })).to.equal(false)
  })
})
