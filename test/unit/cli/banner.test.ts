import { expect } from 'chai'
import { randomUUID } from 'node:crypto'
import { type BannerFacts, renderBanner } from '../../../src/lib/cli/banner.ts'
import { entryName } from '../../../src/lib/mcp/settings/choose-target.ts'
import { describeTerminal } from '../../../src/lib/cli/terminal.ts'

const facts: BannerFacts = {
  name: 'service-cli',
  url: 'http://127.0.0.1:8765/mcp',
  hostUrl: 'http://127.0.0.1:8765/host',
  hostTokenFile: '/tmp/s/i/t.token',
  keyed: false,
  loopback: true,
  capture: null,
  page: null,
  joins: [],
  colour: false,
  command: 'service-cli',
}

describe('renderBanner', () => {
  for (const keyed of [false, true]) {
    it(`fits 80 columns ${keyed ? 'with' : 'without'} a key`, () => {
      for (const line of renderBanner({ ...facts, keyed }).split('\n')) {
        expect(line.length, line).to.be.at.most(80)
      }
    })
  }

  it('shows the link of the page whole, on a line of its own, and nothing without a page', () => {
    const page = `http://127.0.0.1:8765/#login=${'A'.repeat(43)}`
    const text = renderBanner({ ...facts, page })
    expect(text.split('\n')).to.include(`  ${page}`)
    expect(text).to.contain('later: service-cli page')
    expect(renderBanner(facts)).not.to.match(/page|login/i)
  })

  it('fits 80 columns with the token file of a real instance, whose path stays whole', () => {
    const hostTokenFile = `/tmp/service-cli-1000/instances/${randomUUID()}.token`
    const lines = renderBanner({ ...facts, hostTokenFile }).split('\n')
    for (const line of lines) expect(line.length, line).to.be.at.most(80)
    expect(lines).to.include(`  ${hostTokenFile}`).and.include(`    ${hostTokenFile})`)
  })

  it('calls the server in settings as mcp-config does', () => {
    const text = renderBanner({ ...facts, name: entryName('blender') })
    expect(text).to.contain('--transport http blender http://').and.contain('{"blender":{')
    expect(renderBanner({ ...facts, name: entryName('unknown') })).to.contain(
      'http service-cli http',
    )
  })

  it('prints commands as they work where it was started', () => {
    const text = renderBanner({ ...facts, command: 'node bin/run.js' })
    for (const words of ['mcp-config', 'adapter blender', 'adapter python', 'keys create']) {
      expect(text).to.contain(`node bin/run.js ${words}`)
    }
    expect(text).not.to.match(/service-cli (?:mcp-config|adapter|keys)/)
  })

  it('says who can read without a key, and how to set one', () => {
    const text = renderBanner(facts)
    expect(text).to.contain('every account of this machine can read')
    expect(text).to.contain('service-cli keys create')
    expect(text).to.contain('audit log, events and artefacts').and.not.contain('see the window')
  })

  it('says so for the network when it listens there', () => {
    expect(renderBanner({ ...facts, loopback: false })).to.contain('everyone who can reach')
  })

  it('tells clients to send the key, by the name of its variable', () => {
    const text = renderBanner({ ...facts, keyed: true })
    expect(text).not.to.contain('No API key')
    // In quotes that keep a shell from putting the key itself into the client's file.
    expect(text).to.contain(`--header 'Authorization: Bearer \${SERVICE_MCP_API_KEY}'`)
  })

  it('says what is asked for, keys or tokens', () => {
    expect(renderBanner({ ...facts, keyed: true })).to.contain('the host token, the API key')
    const text = renderBanner({ ...facts, tokens: true })
    expect(text).to.contain('the host token, access tokens').and.not.contain('No API key')
    expect(text).not.to.contain('SERVICE_MCP_API_KEY')
  })

  it('has client entries that are JSON', () => {
    for (const keyed of [false, true]) {
      const text = renderBanner({ ...facts, keyed })
      const entry = /^ +\{"mcpServers[^]*?\}\}\}\}?$/m.exec(text)?.[0] ?? ''
      expect(JSON.parse(entry)).to.have.nested.property('mcpServers.service-cli.url', facts.url)
    }
  })

  it('posts the scene, with a quoted token path', () => {
    const text = renderBanner({ ...facts, hostTokenFile: "/tmp/it's here" })
    expect(text).to.contain('http://127.0.0.1:8765/host/v1/scene')
    expect(text).to.contain(`$(cat \\\n    '/tmp/it'\\''s here')`)
  })

  it('uses the variable when the host token came from it', () => {
    expect(renderBanner({ ...facts, hostTokenFile: null })).to.contain('TOKEN=$SERVICE_HOST_TOKEN')
  })

  it('has escape codes only in colour', () => {
    expect(renderBanner(facts)).not.to.contain('\x1b')
    expect(renderBanner({ ...facts, colour: true })).to.contain('\x1b[1m')
  })
})

describe('the line about the window in the banner', () => {
  const trouble = { message: 'there is no display', hint: 'start it in a desktop session' }
  const cases: [what: string, capture: BannerFacts['capture'], told: string][] = [
    ['switched off', null, 'clients cannot see it: window capture is off'],
    ['waiting', { way: null, waits: true, trouble: null }, 'waits for an application; then'],
    [
      'waiting in vain',
      { way: null, waits: true, trouble },
      'that sends pictures itself: there is',
    ],
    ['impossible', { way: null, waits: false, trouble }, 'there is no display; start it in a'],
    ['seen', { way: 'x11', waits: false, trouble: null }, 'clients can see it (x11)'],
  ]
  for (const [what, capture, told] of cases) {
    it(`says it is ${what}, in 80 columns`, () => {
      const text = renderBanner({ ...facts, capture })
      for (const line of text.split('\n')) expect(line.length, line).to.be.at.most(80)
      expect(text.replace(/\n +/g, ' ')).to.contain(told)
    })
  }

  it('warns of who can see it when no key is asked for', () => {
    const capture = { way: 'x11', waits: false, trouble: null }
    expect(renderBanner({ ...facts, capture })).to.contain('can see the window')
    expect(renderBanner({ ...facts, capture, keyed: true })).not.to.contain('can see the window')
  })
})

describe('describeTerminal', () => {
  const cases: [isTTY: boolean, env: NodeJS.ProcessEnv, colour: boolean][] = [
    [true, {}, true],
    [true, { NO_COLOR: '' }, true],
    [true, { NO_COLOR: '1' }, false],
    [true, { TERM: 'dumb' }, false],
    [false, {}, false],
  ]
  for (const [isTTY, env, colour] of cases) {
    it(`${colour ? 'colours' : 'is plain'} with ${JSON.stringify({ isTTY, ...env })}`, () => {
      expect(describeTerminal(isTTY, env).colour).to.equal(colour)
    })
  }
})
