import { expect } from 'chai'
import { createGuard, findDuplicateHeader, hostName } from '../../../src/server/http/guards.ts'

describe('guards', () => {
  const guard = createGuard({
    own: ['192.0.2.7', '::1', 'public.example:444', '0.0.0.0', '::'],
    hosts: ['studio.example:8443'],
    origins: ['https://app.example', 'https://dflt.example:443'],
  })

  const cases: [string, { host?: string; origin?: string }, string][] = [
    ['accepts localhost with a port', { host: 'localhost:8765' }, 'ok'],
    ['accepts [::1]', { host: '[::1]:8765' }, 'ok'],
    ['accepts the bound address', { host: '192.0.2.7:8765' }, 'ok'],
    ['accepts a named host whatever its port', { host: 'studio.example' }, 'ok'],
    ['refuses a missing host', {}, 'host_missing'],
    ['refuses the address that stands for all', { host: '0.0.0.0:80' }, 'host_not_allowed'],
    ['refuses two ports', { host: 'localhost:80:80@x' }, 'host_malformed'],
    ['refuses a port beyond 65535', { host: 'localhost:65536' }, 'host_malformed'],
    ['refuses text behind brackets', { host: '[::1]evil' }, 'host_malformed'],

    ['refuses a rebound name', { host: 'evil.example:8765' }, 'host_not_allowed'],
    [
      'refuses a name that begins like localhost',
      { host: 'localhost.evil.example' },
      'host_not_allowed',
    ],
    [
      'refuses user information before the host',
      { host: 'localhost@evil.example' },
      'host_not_allowed',
    ],
    [
      'accepts a page of this machine',
      { host: 'localhost', origin: 'http://localhost:3000' },
      'ok',
    ],
    ['accepts a named origin', { host: 'localhost', origin: 'https://app.example' }, 'ok'],
    [
      'refuses a named origin of another scheme',
      { host: 'localhost', origin: 'http://app.example' },
      'origin_not_allowed',
    ],
    [
      'refuses a foreign origin',
      { host: 'localhost', origin: 'https://evil.example' },
      'origin_not_allowed',
    ],
    [
      'refuses a page of a host that only the Host header may name',
      { host: 'localhost', origin: 'https://studio.example' },
      'origin_not_allowed',
    ],
    [
      'accepts its own page under a name that only the Host header may carry',
      { host: 'studio.example:8443', origin: 'https://studio.example:8443' },
      'ok',
    ],
    [
      'accepts its own page whatever the case of the name, and on the default port',
      { host: 'STUDIO.example:80', origin: 'http://studio.example' },
      'ok',
    ],
    [
      'refuses the page of another port of such a name',
      { host: 'studio.example:8443', origin: 'https://studio.example:8444' },
      'origin_not_allowed',
    ],
    [
      'refuses an origin with user information before such a name',
      { host: 'studio.example', origin: 'http://evil@studio.example' },
      'origin_not_allowed',
    ],
    [
      'refuses an origin with a path behind such a name',
      { host: 'studio.example', origin: 'http://studio.example/a' },
      'origin_not_allowed',
    ],
    [
      'accepts a page of the public address',
      { host: 'localhost', origin: 'https://public.example' },
      'ok',
    ],
    [
      'accepts an origin named with its default port',
      { host: 'localhost', origin: 'https://dflt.example' },
      'ok',
    ],
    ['refuses the null origin', { host: 'localhost', origin: 'null' }, 'origin_not_allowed'],
    [
      'refuses a non-web origin of localhost',
      { host: 'localhost', origin: 'file://localhost' },
      'origin_not_allowed',
    ],
  ]
  for (const [name, headers, expected] of cases) {
    it(name, () => {
      const verdict = guard(headers)
      expect(verdict.ok ? 'ok' : verdict.failure.reason).to.equal(expected)
    })
  }

  it('names the refused value and the flag that would allow it', () => {
    const verdict = guard({ host: 'evil.example:80' })
    expect(verdict).to.have.nested.property('failure.status', 403)
    expect(verdict)
      .to.have.nested.property('failure.message')
      .that.includes('evil.example:80')
      .and.includes('--allowed-host evil.example')
  })

  it('cuts a long value and shows no control bytes', () => {
    const verdict = guard({ host: `\u0007${'a'.repeat(5000)}` })
    expect(verdict).to.have.nested.property('failure.message').with.length.below(400)
    expect(JSON.stringify(verdict)).not.to.include('u0007')
  })

  it('accepts the address that was reached only when it is told it', () => {
    expect(guard({ host: '198.51.100.4:80' }).ok).to.equal(false)
    expect(guard({ host: '198.51.100.4:80' }, '198.51.100.4').ok).to.equal(true)
    expect(guard({ host: '198.51.100.4:80' }, '::ffff:198.51.100.4').ok).to.equal(true)
    expect(guard({ host: '198.51.100.4:80' }).ok, 'not remembered').to.equal(false)
  })

  it('accepts the page of the address that was reached, on its port alone', () => {
    const ask = (origin: string) => guard({ host: '198.51.100.4:80', origin }, '198.51.100.4').ok
    expect(ask('http://198.51.100.4')).to.equal(true)
    expect(ask('http://198.51.100.4:81')).to.equal(false)
    expect(ask('null')).to.equal(false)
  })

  it('does not accept the address that was reached when only one is bound', () => {
    const bound = createGuard({ own: ['192.0.2.7'], hosts: [], origins: [] })
    expect(bound({ host: '198.51.100.4:80' }, '198.51.100.4').ok).to.equal(false)
  })

  it('finds a deciding header that was sent twice, whatever its case', () => {
    expect(findDuplicateHeader(['Host', 'a', 'Accept', 'x', 'accept', 'y'])).to.equal(null)
    expect(findDuplicateHeader(['Host', 'a', 'HOST', 'b'])).to.equal('host')
    expect(findDuplicateHeader(['Mcp-Session-Id', 'a', 'mcp-session-id', 'a'])).to.equal(
      'mcp-session-id',
    )
    for (const name of ['Mcp-Method', 'Mcp-Name', 'MCP-Protocol-Version', 'Content-Length']) {
      expect(findDuplicateHeader([name, 'a', 'X-A', '', name.toUpperCase(), 'b'])).to.equal(
        name.toLowerCase(),
      )
    }
  })

  it('reads the name of a Host header', () => {
    expect(hostName('[::1]:8765')).to.equal('[::1]')
    expect(hostName('Example.COM:80')).to.equal('example.com')
    expect(hostName('example.com')).to.equal('example.com')
  })
})
