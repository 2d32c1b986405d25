import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** The folder of `cert.pem` and `key.pem`; absent: the server speaks no TLS. */
const tlsFolder = process.env.BENCH_TLS

/** Listens on a free loopback port and says so the way `service-cli serve --json` does. */
export function listenAndAnnounce(answer: RequestListener): void {
  const file = (name: string) => readFileSync(join(tlsFolder ?? '', name))
  const server =
    tlsFolder === undefined
      ? createServer(answer)
      : createTlsServer({ cert: file('cert.pem'), key: file('key.pem') }, answer)
  server.listen(0, '127.0.0.1', 4096, () => announce(server.address() as AddressInfo))
}

export function announce({ port }: { readonly port: number }): void {
  const origin = `${tlsFolder === undefined ? 'http' : 'https'}://127.0.0.1:${port}`
  const line = {
    event: 'listening',
    url: `${origin}/mcp`,
    pid: process.pid,
    host_url: `${origin}/host`,
  }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
