import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { atEnd } from './cleanup.ts'

/** Lets the server listen at an address of this machine, and closes it at the end; resolves with its port. */
export async function listening(
  server: Server | HttpServer,
  port = 0,
  host = '127.0.0.1',
): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  atEnd(() => {
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}
