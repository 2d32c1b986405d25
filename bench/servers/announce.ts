import { readFileSync } from 'node:fs'
import http, { type RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'

const { BENCH_CERT: cert, BENCH_KEY: key } = process.env
const isTls = cert !== undefined && key !== undefined

/** Listens on a free loopback port and says so the way `service-cli serve --json` does. */
export function listenAndAnnounce(answer: RequestListener): void {
  const server = isTls
    ? https.createServer({ cert: readFileSync(cert), key: readFileSync(key) }, answer)
    : http.createServer(answer)
  server.listen(0, '127.0.0.1', 4096, () => announce(server.address() as AddressInfo))
}

export function announce({ port }: { readonly port: number }): void {
  const origin = `${isTls ? 'https' : 'http'}://127.0.0.1:${port}`
  console.log(JSON.stringify({ url: `${origin}/mcp`, host_url: `${origin}/host` }))
}
