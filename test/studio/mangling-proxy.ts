import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

export interface Mangled {
  /** The requests, as `METHOD /path`. */
  readonly requests: string[]
  readonly url: string
  /**
   * Sees each answer with a body and its bytes so far; returns what the client gets of a piece, and
   * null to cut the connection.
   */
  mangle: ((req: IncomingMessage, piece: Buffer, at: number) => Buffer | null) | null
  close(): void
}

/** Passes requests on to a server of a bucket, and its answers back, perhaps not as they were. */
export async function startManglingProxy(target: string): Promise<Mangled> {
  const { port } = new URL(target)
  const requests: string[] = []
  const server = createServer((req, res) => {
    requests.push(`${req.method} ${req.url}`)
    // The host is signed.
    const headers = { ...req.headers, host: req.headers.host }
    const asked = request({ host: '127.0.0.1', port, method: req.method, path: req.url, headers })
    let isAnswered = false
    asked.on('response', answer => {
      isAnswered = true
      void passOn(req, answer, res)
    })
    // Swift sends more than the headers in answer to HEAD: that error comes after the answer.
    asked.on('error', () => {
      if (!isAnswered) res.destroy()
    })
    req.pipe(asked)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  async function passOn(
    req: IncomingMessage,
    answer: IncomingMessage,
    res: ServerResponse,
  ): Promise<void> {
    res.writeHead(answer.statusCode ?? 502, answer.headers)
    let at = 0
    for await (const piece of answer) {
      const passed = proxy.mangle === null ? piece : proxy.mangle(req, piece, at)
      at += piece.length
      if (passed === null) {
        res.destroy()
        return
      }
      if (!res.write(passed)) await once(res, 'drain')
    }
    res.end()
  }

  const proxy: Mangled = {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mangle: null,
    close: () => server.close().closeAllConnections(),
  }
  return proxy
}
