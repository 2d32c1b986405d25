import { expect } from 'chai'
import { renderGatewayBanner } from '../../../src/commands/gateway.ts'
import { renderAccountsBanner } from '../../../src/commands/registry/index.ts'
import { renderBanner } from '../../../src/commands/serve.ts'

const page = `http://127.0.0.1:8765/#login=${'A'.repeat(43)}`
const url = 'http://127.0.0.1:8765/mcp'
const shown = { colour: false, page: null, url }

const serve = (changes: object) =>
  renderBanner({
    ...shown,
    hostUrl: 'http://127.0.0.1:8765/host',
    hostTokenFile: "/tmp/it's here",
    capture: null,
    joins: [],
    ...changes,
  })
const gateway = (changes: object) =>
  renderGatewayBanner({ ...shown, registryDir: '/tmp/s', acceptsJoins: false, ...changes })
const registry = (changes: object) =>
  renderAccountsBanner({ ...shown, registration: 'open', local: true, dataDir: '/d', ...changes })

describe('the banner', () => {
  const unavailable = { reason: 'no_display', message: 'there is no display', hint: 'start it' }
  /** What it contains, and with `not ` before it what it does not. */
  const rows: [render: (changes: object) => string, changes: object, ...texts: string[]][] = [
    [serve, {}, url, `$(cat \\ '/tmp/it'\\''s here')`, 'not page', 'not login', 'not \x1b'],
    [serve, { page }, page, 'later: service-cli page', 'not --registry-dir'],
    [serve, { page, namedDir: '/a b' }, "page --registry-dir '/a b'", "--write --registry-dir '/"],
    [serve, { hostTokenFile: null }, 'TOKEN=$SERVICE_HOST_TOKEN'],
    [serve, { capture: { unavailable } }, 'there is no display; start it'],
    [
      serve,
      { capture: { unavailable: { ...unavailable, reason: 'no_application' } } },
      'waits for an application; --capture off',
    ],
    [serve, { capture: { unavailable: null } }, 'clients can see it; --capture off'],
    [serve, { colour: true }, '\x1b[1m'],
    [gateway, {}, url, '/tmp/s', 'not join', 'not login'],
    [gateway, { acceptsJoins: true, page }, 'that join', page, 'not service-cli page'],
    [gateway, { namedDir: '/x' }, '--gateway --registry-dir /x', 'instances --registry-dir /x'],
    [registry, {}, url, '/d', 'Make an account, on this machine'],
    [registry, { registration: 'closed', local: false }, 'closed', 'not Make'],
    [registry, { local: false }, 'here or elsewhere'],
  ]
  for (const [render, changes, ...texts] of rows) {
    it(`of ${render.name} says for ${JSON.stringify(changes)} ${texts.join(', ')}`, () => {
      const banner = render(changes).replace(/\n +/g, ' ')
      for (const text of texts) {
        if (text.startsWith('not ')) expect(banner).not.to.contain(text.slice('not '.length))
        else expect(banner).to.contain(text)
      }
    })
  }
})
