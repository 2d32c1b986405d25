import { expect } from 'chai'
import { isLoopback, parseOrigin, isForeignPeer } from '../../../src/lib/util/net.ts'
import { localBase } from '../../../src/server/http/listen-options.ts'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { skipBecause } from '../../helpers/skip.ts'

describe('isLoopback', () => {
  const cases: [host: string, expected: boolean][] = [
    ['127.8.9.1', true],
    ['[::1]', true],
    ['LocalHost', true],
    ['::ffff:127.0.0.1', true],
    ['::ffff:192.168.1.2', false],
    ['127.1', false],
    ['0.0.0.0', false],
    ['[::]', false],
    ['127.evil.example', false],
    ['localhost.evil.example', false],
  ]
  for (const [host, expected] of cases) {
    it(`is ${expected} for ${host}`, () => expect(isLoopback(host)).to.equal(expected))
  }
})

describe('localBase', () => {
  const cases: [host: string, base: string][] = [
    ['127.0.0.1', 'http://127.0.0.1:80'],
    ['::1', 'http://[::1]:80'],
    ['studio.example', 'http://studio.example:80'],
    ['0.0.0.0', 'http://127.0.0.1:80'],
    ['::', 'http://127.0.0.1:80'],
  ]
  for (const [host, base] of cases) {
    it(`is ${base} for a server on ${host}`, () => {
      expect(localBase(host, 80)).to.equal(base)
    })
  }
})

describe('parseOrigin', () => {
  const cases: [text: string, origin: string | null][] = [
    ['HTTPS://Studio.Example', 'https://studio.example'],
    ['https://studio.example:443', 'https://studio.example'],
    ['http://studio.example:443', 'http://studio.example:443'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
    ['https://möbel.example', 'https://xn--mbel-5qa.example'],
    ['chrome-extension://abcdef', 'chrome-extension://abcdef'],
    ['https://studio.example/', null],
    ['https://studio.example?a', null],
    ['https://user@studio.example', null],
    ['https://*.example', null],
    ['https://studio.example:99999', null],
    ['https://', null],
    ['file:///a', null],
    ['studio.example', null],
    ['null', null],
  ]
  for (const [text, origin] of cases) {
    it(`reads "${text}" as ${origin}`, () => expect(parseOrigin(text)).to.equal(origin))
  }
})

const row = (local: string, uid: number, state = '0A', remote = '00000000:0000') =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 4711 1`

/** This user listens at the first address, another one at the second. */
const rows = (own: string, others: string) => `${row(own, 1000)}\n${row(others, 1001)}`

describe('isForeignPeer', () => {
  const v4 = '0100007F:223D'
  const anyV4 = '00000000:223D'
  const anyV6 = `${'0'.repeat(32)}:223D`
  const anyMapped = '0000000000000000FFFF000000000000:223D'
  const cases: [what: string, table: string, address: string, expected: boolean][] = [
    ['this user', row(v4, 1000), '127.0.0.1', false],
    ['root', row(v4, 0), '127.0.0.1', false],
    ['another user', row(v4, 1001), '127.0.0.1', true],
    ['another user at every address', row(anyV6, 1001), '127.0.0.1', true],
    ['another user at every mapped address', row(anyMapped, 1001), '127.0.0.1', true],
    ['this user, and another at every address', rows(v4, anyV6), '127.0.0.1', false],
    ['this user at every IPv4 address, another at IPv6', rows(anyV4, anyV6), '127.0.0.1', false],
    ['another user, and this one at every IPv6 address', rows(anyV6, v4), '127.0.0.1', true],
    ['another user at ::1', row('00000000000000000000000001000000:223D', 1001), '::1', true],
    ['another connection', row(v4, 1001, '01', '0100007F:9C41'), '127.0.0.1', false],
    ['another user who has accepted it', row(v4, 1001, '01', '0100007F:9C40'), '127.0.0.1', true],
  ]
  for (const [what, table, address, expected] of cases) {
    it(`returns ${expected} for ${what}`, () => {
      const peer = { address, port: 8765, localPort: 40_000 }
      expect(isForeignPeer(table, peer, 1000)).to.equal(expected)
    })
  }
})

describe('isForeignSocket', () => {
  it('returns true when no file can be opened to look', async function () {
    if (process.platform !== 'linux') skipBecause(this, 'needs Linux')
    const program = `
      const { openSync } = await import('node:fs')
      const { isForeignSocket } = await import(process.argv[1])
      const socket = { remoteAddress: '127.0.0.1', remotePort: 8765, localPort: 40000 }
      try {
        for (;;) openSync('/dev/null')
      } catch {}
      console.log(await isForeignSocket(socket))`
    const module = import.meta.resolve('../../../src/lib/util/net.ts')
    const limited = 'ulimit -n 64 && exec "$@"'
    const node = [process.execPath, '--input-type=module', '-e', program, module]
    const { stdout } = await promisify(execFile)('sh', ['-c', limited, 'sh', ...node])
    expect(stdout.trim()).to.equal('true')
  })
})
