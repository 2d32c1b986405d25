import { expect } from 'chai'
import type { IncomingMessage } from 'node:http'
import { Guard, hostName, type RequestRefused } from '../../../src/server/http/guard.ts'

const everywhere = {
  host: '0.0.0.0',
  publicUrl: 'https://public.example:444',
  allowedHosts: ['studio.example:8443'],
  allowedOrigins: ['https://app.example', 'https://dflt.example:443'],
}

describe('guards', () => {
  const guard = new Guard(everywhere)

  /** 'ok', or the refusal. */
  function verdict(
    { host, origin }: { host?: string; origin?: string },
    localAddress?: string,
    by = guard,
  ): RequestRefused | 'ok' {
    const headers = { host, origin }
    const req = { url: '/mcp', headers, rawHeaders: [], socket: { localAddress } }
    return by.check(req as unknown as IncomingMessage) ?? 'ok'
  }

  const cases: [host: string | undefined, origin: string | undefined, verdict: string][] = [
    ['localhost:8765', undefined, 'ok'],
    ['[::1]:8765', undefined, 'ok'],
    ['studio.example', undefined, 'ok'], // named with a port, which does not count
    [undefined, undefined, 'host_malformed'],
    ['0.0.0.0:80', undefined, 'host_not_allowed'], // stands for all addresses
    ['localhost:80:80@x', undefined, 'host_malformed'],
    ['localhost:655360', undefined, 'host_malformed'],
    ['[::1]evil', undefined, 'host_malformed'],
    ['evil.example:8765', undefined, 'host_not_allowed'],
    ['localhost.evil.example', undefined, 'host_not_allowed'],
    ['localhost@evil.example', undefined, 'host_malformed'],
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
      const found = verdict({ host, origin })
      expect(found === 'ok' ? found : found.reason).to.equal(expected)
    })
  }

  it('names the refused value and the flag that would allow it', () => {
    expect(verdict({ host: 'evil.example:80' }))
      .to.have.property('message')
      .that.includes('evil.example:80')
      .and.includes('--allowed-host evil.example')
  })

  it('accepts the address that was reached only when it is told it', () => {
    const host = '198.51.100.4:80'
    expect(verdict({ host })).not.to.equal('ok')
    expect(verdict({ host }, '198.51.100.4')).to.equal('ok')
    expect(verdict({ host }, '::ffff:198.51.100.4')).to.equal('ok')
    expect(verdict({ host }), 'not remembered').not.to.equal('ok')
    const bound = new Guard({ host: '192.0.2.7' })
    expect(verdict({ host }, '198.51.100.4', bound), 'bound to one').not.to.equal('ok')
    expect(verdict({ host: '192.0.2.7:8765' }, undefined, bound)).to.equal('ok')
  })

  it('accepts the page of the address that was reached, on its port alone', () => {
    const ask = (origin: string) => verdict({ host: '198.51.100.4:80', origin }, '198.51.100.4')
    expect(ask('http://198.51.100.4')).to.equal('ok')
    expect(ask('http://198.51.100.4:81')).not.to.equal('ok')
    expect(ask('null')).not.to.equal('ok')
  })

  const targets: [url: string, isPath: boolean][] = [
    ['/mcp?x=/../y', true],
    ['/instances/W%C3%BCrfel%20a%2Fb', true],
    ['/nothing/../healthz', false],
    ['/./healthz', false],
    ['/host/..', false],
    ['/nothing/%2e%2E/healthz', false],
    ['/%68ealthz', false],
    ['/%4dcp', false],
    ['/v%31', false],
    ['/a%7Eb', false],
    ['/\\healthz', false],
    ['/healthz#', false],
    ['http://localhost/healthz', false],
    ['*', false],
  ]
  for (const [url, isPath] of targets) {
    it(`${isPath ? 'takes' : 'refuses'} the target ${url}`, () => {
      const req = { url, headers: { host: 'localhost' }, rawHeaders: [], socket: {} }
      const refused = guard.check(req as unknown as IncomingMessage)
      expect(refused?.reason).to.equal(isPath ? undefined : 'target_malformed')
    })
  }

  it('reads the name of a Host header', () => {
    expect(hostName('[::1]:8765')).to.equal('[::1]')
    expect(hostName('Example.COM:80')).to.equal('example.com')
    expect(hostName('example.com')).to.equal('example.com')
  })
})
