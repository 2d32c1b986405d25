import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Listens on a free loopback port and says so the way `service-cli serve --json` does. */
export function listenAndAnnounce(server: Server): void {
  server.listen(0, '127.0.0.1', 4096, () => announce(server.address() as AddressInfo))
}

export function announce({ port }: { readonly port: number }): void {
  const origin = `http://127.0.0.1:${port}`
  const line = {
    event: 'listening',
    url: `${origin}/mcp`,
    pid: process.pid,
    host_url: `${origin}/host`,
  }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
