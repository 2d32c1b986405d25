import { expect } from 'chai'
import { randomUUID } from 'node:crypto'
import { type GatewayBannerFacts, renderGatewayBanner } from '../../../src/commands/gateway.ts'
import {
  type AccountsBannerFacts,
  renderAccountsBanner,
} from '../../../src/commands/registry/index.ts'
import { type BannerFacts, renderBanner } from '../../../src/commands/serve.ts'

const page = `http://127.0.0.1:8765/#login=${'A'.repeat(43)}`
const shown = { colour: false, page: null }

/** What a banner contains, and with `not ` before it what it does not. */
type Row<Facts> = [changes: Partial<Facts>, ...texts: string[]]

function expectTexts(banner: string, texts: readonly string[]): void {
  for (const text of texts) {
    if (text.startsWith('not ')) expect(banner).not.to.contain(text.slice('not '.length))
    else expect(banner.replace(/\n +/g, ' ')).to.contain(text)
  }
}

describe('renderBanner', () => {
  const facts: BannerFacts = {
    ...shown,
    url: 'http://127.0.0.1:8765/mcp',
    hostUrl: 'http://127.0.0.1:8765/host',
    hostTokenFile: `/tmp/service-cli-1000/instances/${randomUUID()}.token`,
    capture: null,
    joins: [],
  }
  const unavailable = {
    reason: 'no_display',
    message: 'there is no display',
    hint: 'start it in a desktop session',
  }
  const waits = { ...unavailable, reason: 'no_application' }
  const rows: Row<BannerFacts>[] = [
    [{}, 'not page', 'not login', 'not \x1b'],
    [{ page }, page, 'later: service-cli page', 'not --registry-dir'],
    [{ hostTokenFile: "/tmp/it's here" }, `$(cat \\ '/tmp/it'\\''s here')`, '/host/v1/scene'],
    [{ hostTokenFile: null }, 'TOKEN=$SERVICE_HOST_TOKEN'],
    [{ capture: { unavailable: waits } }, 'waits for an application; --capture off'],
    [{ capture: { unavailable } }, 'there is no display; start it in a'],
    [{ capture: { unavailable: null } }, 'clients can see it; --capture off'],
  ]
  for (const [changes, ...texts] of rows) {
    it(`says for ${JSON.stringify(changes)} ${texts.join(', ')}`, () => {
      expectTexts(renderBanner({ ...facts, ...changes }), texts)
    })
  }

  it('names the state directory in its commands', () => {
    const banner = renderBanner({ ...facts, page, namedDir: '/tmp/a b' })
    expect(banner).to.contain("service-cli page --registry-dir '/tmp/a b'")
    expect(banner).to.contain("--write --registry-dir '/tmp/a b'")
  })

  it('has escape codes only in colour', () => {
    expect(renderBanner({ ...facts, colour: true })).to.contain('\x1b[1m')
  })
})

describe('renderGatewayBanner', () => {
  const facts: GatewayBannerFacts = {
    ...shown,
    url: 'http://127.0.0.1:9765/mcp',
    registryDir: '/tmp/service-cli-1000',
    acceptsJoins: false,
  }
  const rows: Row<GatewayBannerFacts>[] = [
    [{}, facts.url, facts.registryDir, 'not join', 'not login'],
    [{ acceptsJoins: true }, 'that join'],
    [{ namedDir: '/tmp/x' }, '--gateway --registry-dir /tmp/x', 'instances --registry-dir /tmp/x'],
    [{ page }, page, 'not service-cli page'],
  ]
  for (const [changes, ...texts] of rows) {
    it(`says for ${JSON.stringify(changes)} ${texts.join(', ')}`, () => {
      expectTexts(renderGatewayBanner({ ...facts, ...changes }), texts)
    })
  }
})

describe('renderAccountsBanner', () => {
  const facts: AccountsBannerFacts = {
    colour: false,
    url: 'http://127.0.0.1:8780',
    registration: 'open',
    local: true,
    dataDir: '/home/a/.local/share/service-cli/registry',
  }
  const rows: Row<AccountsBannerFacts>[] = [
    [{}, facts.url, facts.dataDir, 'Make an account, on this machine'],
    [{ registration: 'invite' }, 'invite'],
    [{ registration: 'closed', local: false }, 'closed', 'not Make'],
    [{ local: false }, 'here or elsewhere'],
  ]
  for (const [changes, ...texts] of rows) {
    it(`says for ${JSON.stringify(changes)} ${texts.join(', ')}`, () => {
      expectTexts(renderAccountsBanner({ ...facts, ...changes }), texts)
    })
  }
})
