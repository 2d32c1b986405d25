import { once } from 'node:events'
import { createServer } from 'node:net'
import { listening } from './listening.ts'

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listening(server)
  server.close()
  await once(server, 'close')
  return port
}
