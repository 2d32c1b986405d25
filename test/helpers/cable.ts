import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A connection to a port of this machine that can be cut, with or without telling the ends. */
export interface Cable {
  readonly port: number
  /** Connections that go through now. */
  readonly open: number
  /** From now on nothing comes through, and neither end is told; new connections neither. */
  silence(): void
  /** What waits comes through. */
  mend(): void
  /** Closes what goes through; new connections are taken. */
  cut(): void
  close(): void
}

export async function openCable(port: number, at = 0, host = '127.0.0.1'): Promise<Cable> {
  const ends = new Set<Socket>()
  let isSilent = false
  const server = createServer(near => {
    const far = connect(port, host)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(from)
      from.on('data', bytes => void to.write(bytes))
      from.on('error', () => {})
      from.once('close', () => {
        ends.delete(from)
        if (!isSilent) to.destroy()
      })
      if (isSilent) from.pause()
    }
  })
  server.listen(at, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => ends.forEach(end => end.destroy())
  return {
    port: (server.address() as AddressInfo).port,
    get open() {
      return ends.size / 2
    },
    silence() {
      isSilent = true
      for (const end of ends) end.pause()
    },
    mend() {
      isSilent = false
      for (const end of ends) end.resume()
    },
    cut,
    close() {
      isSilent = false
      cut()
      server.close()
    },
  }
}
