import { expect } from 'chai'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { HttpLink } from '../../../src/lib/mcp/bridge/http-link.ts'
import { isForeignPeer, sharedRead } from '../../../src/lib/util/port-holder.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { systemTimer } from '../../../src/lib/util/time.ts'
import { ReadLink } from '../../../src/server/gateway/relay/read-link.ts'
import { skipBecause } from '../../helpers/skip.ts'

const row = (local: string, uid: number, state = '0A', remote = '00000000:0000') =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 4711 1`

/** This user listens at the first address, another one at the second. */
const rows = (own: string, others: string) => `${row(own, 1000)}\n${row(others, 1001)}`

describe('isForeignPeer', () => {
  const v4 = '0100007F:223D'
  const anyV4 = '00000000:223D'
  const anyV6 = `${'0'.repeat(32)}:223D`
  const anyMapped = '0000000000000000FFFF000000000000:223D'
  const cases: [string, string, string, boolean][] = [
    ['this user', row(v4, 1000), '127.0.0.1', false],
    ['root', row(v4, 0), '127.0.0.1', false],
    ['another user', row(v4, 1001), '127.0.0.1', true],
    ['another user at every address', row(anyV6, 1001), '127.0.0.1', true],
    ['another user at every mapped address', row(anyMapped, 1001), '127.0.0.1', true],
    ['this user, and another at every address', rows(v4, anyV6), '127.0.0.1', false],
    ['this user at every IPv4 address, another at IPv6', rows(anyV4, anyV6), '127.0.0.1', false],
    ['another user, and this one at every IPv6 address', rows(anyV6, v4), '127.0.0.1', true],
    ['another user at ::1', row('00000000000000000000000001000000:223D', 1001), '::1', true],
    ['another user at another address', row('0200007F:223D', 1001), '127.0.0.1', false],
    ['another user at another port', row('0100007F:223E', 1001), '127.0.0.1', false],
    ['another connection', row(v4, 1001, '01', '0100007F:9C41'), '127.0.0.1', false],
    ['another user who has accepted it', row(v4, 1001, '01', '0100007F:9C40'), '127.0.0.1', true],
    ['this user who has accepted it', row(v4, 1000, '01', '0100007F:9C40'), '127.0.0.1', false],
  ]
  for (const [what, table, address, expected] of cases) {
    it(`returns ${expected} for ${what}`, () => {
      expect(isForeignPeer(table, { address, port: 8765, localPort: 40_000 }, 1000)).to.equal(
        expected,
      )
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
    const module = import.meta.resolve('../../../src/lib/util/port-holder.ts')
    const limited = 'ulimit -n 64 && exec "$@"'
    const node = [process.execPath, '--input-type=module', '-e', program, module]
    const { stdout } = await promisify(execFile)('sh', ['-c', limited, 'sh', ...node])
    expect(stdout.trim()).to.equal('true')
  })
})

describe('sharedRead', () => {
  it('reads once more for all who call while a read is under way', async () => {
    const reads: PromiseWithResolvers<string>[] = []
    const shared = sharedRead(() => {
      reads.push(Promise.withResolvers())
      return reads.at(-1)!.promise
    })
    const first = shared()
    const others = [shared(), shared(), shared()]
    expect(reads).to.have.length(1)
    reads[0]!.reject(new Error('no table'))
    expect(await first.catch((error: Error) => error.message)).to.equal('no table')
    await nextTurn()
    expect(reads).to.have.length(2)
    reads[1]!.resolve('a later table')
    expect(new Set(await Promise.all(others))).to.deep.equal(new Set(['a later table']))
    void shared()
    expect(reads).to.have.length(3)
  })
})

/** One request with the key; its status, or why it was not sent. */
type Ask = (url: URL, key: string) => Promise<string>

async function askByHttpLink(url: URL, key: string): Promise<string> {
  const parts = { limits: { connectMs: 60_000 }, env: {}, timer: systemTimer }
  const link = new HttpLink({ ...parts, key: new Secret(key) })
  const { signal } = new AbortController()
  const ask = { url, method: 'GET', headers: {}, repeatable: true, answerMs: 60_000 } as const
  const answer = link.ask({ ...ask, signal }).then(({ statusCode }) => String(statusCode))
  return answer.catch((error: Error) => error.message).finally(() => link.close())
}

async function askByReadLink(url: URL, key: string): Promise<string> {
  const link = new ReadLink({ connectMs: 60_000, key: new Secret(key) })
  const { promise, resolve } = Promise.withResolvers<string>()
  link.send(
    { url, headers: {}, body: '{}', answerMs: 60_000, silenceMs: 60_000 },
    {
      begun: status => resolve(String(status)),
      data() {},
      ended() {},
      failed: reason => resolve(reason.message),
    },
  )
  return promise.finally(() => link.close())
}

const askers: Readonly<Record<string, Ask>> = {
  'a client': askByHttpLink,
  'the reads of a gateway': askByReadLink,
}
for (const [name, ask] of Object.entries(askers)) {
  describe(`the key of ${name}`, () => {
    it('is not sent to a port that another user holds', async function () {
      if (process.platform !== 'linux' || process.geteuid?.() !== 0) {
        skipBecause(this, 'needs Linux and root')
      }
      // The second server closes with its first connection.
      const program = `for (const closes of [false, true]) {
        const server = require('net').createServer(s => {
          if (closes) server.close()
          s.on('data', d => {
            process.stdout.write(d)
            s.end('HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n')
          })
        }).listen(0, '127.0.0.1', function () { console.log(this.address().port) })
      }`
      for (const uid of [0, 65_534]) {
        const child = spawn(process.execPath, ['-e', program], { uid, cwd: '/' })
        let output = ''
        child.stdout.on('data', chunk => (output += chunk))
        try {
          while (output.split('\n').length < 3) await once(child.stdout, 'data')
          for (const port of output.trim().split('\n')) {
            const answer = await ask(new URL(`http://127.0.0.1:${port}/mcp`), 'k'.repeat(40))
            if (uid === 0) expect(answer).to.equal('200')
            else expect(answer).to.match(/another user listens at .*; nothing was sent/)
          }
        } finally {
          child.kill()
          await once(child, 'close')
        }
        expect(output.match(/k{40}/g) ?? []).to.have.length(uid === 0 ? 2 : 0)
      }
    })
  })
}
