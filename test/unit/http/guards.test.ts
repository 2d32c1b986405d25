import { expect } from 'chai'
import { createGuard, findDuplicateHeader, hostName } from '../../../src/server/http/guards.ts'

describe('guards', () => {
  const guard = createGuard({
    own: ['192.0.2.7', '::1', 'public.example:444', '0.0.0.0', '::'],
    hosts: ['studio.example:8443'],
    origins: ['https://app.example', 'https://dflt.example:443'],
  })

  const cases: [host: string | undefined, origin: string | undefined, verdict: string][] = [
    ['localhost:8765', undefined, 'ok'],
    ['[::1]:8765', undefined, 'ok'],
    ['192.0.2.7:8765', undefined, 'ok'],
    ['studio.example', undefined, 'ok'], // named with a port, which does not count
    [undefined, undefined, 'host_missing'],
    ['0.0.0.0:80', undefined, 'host_not_allowed'], // stands for all addresses
    ['localhost:80:80@x', undefined, 'host_malformed'],
    ['localhost:65536', undefined, 'host_malformed'],
    ['[::1]evil', undefined, 'host_malformed'],
    ['evil.example:8765', undefined, 'host_not_allowed'],
    ['localhost.evil.example', undefined, 'host_not_allowed'],
    ['localhost@evil.example', undefined, 'host_not_allowed'],
    ['localhost', 'http://localhost:3000', 'ok'],
    ['localhost', 'https://app.example', 'ok'],
    ['localhost', 'http://app.example', 'origin_not_allowed'], // named, of another scheme
    ['localhost', 'https://evil.example', 'origin_not_allowed'],
    // The page of a name in `hosts` is let in at that very Host.
    ['localhost', 'https://studio.example', 'origin_not_allowed'],
    ['studio.example:8443', 'https://studio.example:8443', 'ok'],
    ['STUDIO.example:80', 'http://studio.example', 'ok'],
    ['studio.example:8443', 'https://studio.example:8444', 'origin_not_allowed'],
    ['studio.example', 'http://evil@studio.example', 'origin_not_allowed'],
    ['studio.example', 'http://studio.example/a', 'origin_not_allowed'],
    // That of the public address is let in everywhere.
    ['localhost', 'https://public.example', 'ok'],
    ['localhost', 'https://dflt.example', 'ok'], // named with its default port
    ['localhost', 'null', 'origin_not_allowed'],
    ['localhost', 'file://localhost', 'origin_not_allowed'],
  ]
  for (const [host, origin, expected] of cases) {
    it(`says ${expected} to Host ${host} and Origin ${origin}`, () => {
      const verdict = guard({ host, origin })
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
