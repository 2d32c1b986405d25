import { type IncomingMessage, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Passes requests on to `target`, and remembers them. */
export interface Passage {
  readonly url: string
  readonly asked: readonly string[]
  close(): Promise<void>
}

/** `refuses`: answers such a request with 503 instead. */
export async function openPassage(
  target: string,
  refuses: (asked: IncomingMessage) => boolean = () => false,
): Promise<Passage> {
  const asked: string[] = []
  const server = createServer((incoming, outgoing) => {
    asked.push(`${incoming.method} ${incoming.url}`)
    if (refuses(incoming)) return void outgoing.writeHead(503).end()
    const { method, headers } = incoming
    const host = new URL(target).host
    const onward = request(target + incoming.url, { method, headers: { ...headers, host } })
    onward.on('response', (answer: IncomingMessage) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
