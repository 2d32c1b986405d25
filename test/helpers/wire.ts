import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** Forwards a link, and acts when so many bytes of the application went through. */
export class Wire {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #left = Number.POSITIVE_INFINITY
  #act = () => {}
  serverPort = 0
  /** Of the application, so far. */
  bytes = 0

  private constructor() {
    this.#server = createServer(near => {
      const far = connect(this.serverPort, '127.0.0.1')
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from)
        from.on('error', () => {})
        from.on('close', () => {
          this.#sockets.delete(from)
          to.destroy()
        })
      }
      far.on('data', data => near.write(data))
      near.on('data', data => this.#forward(data, far))
    })
  }

  static async open(): Promise<Wire> {
    const wire = new Wire()
    await new Promise<void>(resolve => wire.#server.listen(0, '127.0.0.1', resolve))
    return wire
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/host`
  }

  /** Resolves after that many more bytes of the application; the rest is lost with the link. */
  async cutAfter(bytes: number, kill: () => void): Promise<void> {
    await new Promise<void>(resolve => {
      this.#left = bytes
      this.#act = () => {
        kill()
        resolve()
      }
    })
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #forward(data: Buffer, far: Socket): void {
    if (this.#left <= 0) return
    this.bytes += data.length
    far.write(data.subarray(0, Math.min(this.#left, data.length)))
    this.#left -= data.length
    if (this.#left > 0) return
    this.#act()
    // What was forwarded still arrives, as what a killed program has sent does.
    far.end()
  }

  /** The next connection is a whole one again. */
  mend(): void {
    this.#left = Number.POSITIVE_INFINITY
  }
}
