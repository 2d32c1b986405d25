import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HttpLink } from '../../src/lib/mcp/bridge/http-link.ts'
import { Secret } from '../../src/lib/util/secret.ts'
import { systemTimer } from '../../src/lib/util/time.ts'
import { LocalTransport } from '../../src/server/gateway/relay/local-transport.ts'
import { newFolder } from '../helpers/cleanup.ts'
import { skipBecause } from '../helpers/skip.ts'

/** Sends one request with the key. Resolves with its status, or with why it was not sent. */
type Ask = (url: URL, key: string) => Promise<string>

async function askByHttpLink(url: URL, key: string): Promise<string> {
  const parts = { limits: { connectMs: 60_000 }, env: {}, timer: systemTimer }
  const link = new HttpLink({ ...parts, key: new Secret(key) })
  const { signal } = new AbortController()
  const ask = { url, method: 'GET', headers: {}, answerMs: 60_000 } as const
  const answer = link.ask({ ...ask, signal }).then(({ statusCode }) => String(statusCode))
  return answer.catch((error: Error) => error.message).finally(() => link.close())
}

async function askByTransport(url: URL): Promise<string> {
  const folder = newFolder()
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'a-host-token', { mode: 0o600 })
  const transport = new LocalTransport({ locate: () => url, mayUseKey: () => true, tokenFile })
  const request = { method: 'POST', path: '/mcp', headers: {}, body: '{}' }
  return transport
    .send(request, new AbortController().signal)
    .then(
      ({ status }) => String(status),
      (error: Error) => error.message,
    )
    .finally(() => transport.close())
}

/** Servers that print what they get; every second one closes with its first connection. */
const program = `for (const closes of [false, true, false, true]) {
  const server = require('net').createServer(s => {
    if (closes) server.close()
    s.on('data', d => {
      process.stdout.write(d)
      s.end('HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n')
    })
  }).listen(0, '127.0.0.1', function () { console.log(this.address().port) })
}`

describe('the key of a client, and that of the reads of a gateway', () => {
  for (const uid of [0, 65_534]) {
    it(`is ${uid === 0 ? '' : 'not '}sent to a port that user ${uid} holds`, async function () {
      if (process.platform !== 'linux' || process.geteuid?.() !== 0) {
        skipBecause(this, 'needs Linux and root')
      }
      const child = spawn(process.execPath, ['-e', program], { uid, cwd: '/' })
      let output = ''
      child.stdout.on('data', chunk => (output += chunk))
      try {
        while (output.split('\n').length < 5) await once(child.stdout, 'data')
        const ports = output.trim().split('\n')
        const askers: Ask[] = [askByHttpLink, askByHttpLink, askByTransport, askByTransport]
        for (const [at, ask] of askers.entries()) {
          const answer = await ask(new URL(`http://127.0.0.1:${ports[at]}/mcp`), 'k'.repeat(40))
          if (uid === 0) expect(answer).to.equal('200')
          else expect(answer).to.match(/another user listens at .*; nothing was sent/)
        }
      } finally {
        child.kill()
        await once(child, 'close')
      }
      const keys = output.match(/k{40}|Bearer gateway-\S+/g) ?? []
      expect(keys).to.have.length(uid === 0 ? 4 : 0)
    })
  }
})
