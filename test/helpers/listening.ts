import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

/** Lets the server listen at an address of this machine; resolves with its port. */
export async function listening(server: Server, port = 0, host = '127.0.0.1'): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
