import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Connections to a port of this machine that can be cut, with or without telling the ends. */
export class CuttingProxy {
  /** Where they lead. */
  target: number
  /** Of those who connected, so far. */
  bytes = 0
  readonly #host: string
  readonly #ends = new Set<Socket>()
  readonly #server = createServer(near => this.#join(near))
  #isSilent = false
  #left = Infinity
  #act = () => {}

  private constructor(target: number, host: string) {
    this.target = target
    this.#host = host
  }

  static async open(target = 0, at = 0, host = '127.0.0.1'): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(target, host)
    await once(proxy.#server.listen(at, '127.0.0.1'), 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Connections that go through now. */
  get open(): number {
    return this.#ends.size / 2
  }

  /** From now on nothing comes through, and neither end is told; new connections neither. */
  silence(): void {
    this.#isSilent = true
    for (const end of this.#ends) end.pause()
  }

  /** What waits comes through, and new connections are whole ones. */
  mend(): void {
    this.#isSilent = false
    this.#left = Infinity
    for (const end of this.#ends) end.resume()
  }

  /** Closes what goes through; new connections are taken. */
  cut(): void {
    for (const end of this.#ends) end.destroy()
  }

  /** Resolves after so many more bytes of those who connected; the rest is lost with the link. */
  async cutAfter(bytes: number, act: () => void): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#left = bytes
    this.#act = () => {
      act()
      resolve()
    }
    await promise
  }

  close(): void {
    this.#isSilent = false
    this.cut()
    this.#server.close()
  }

  #join(near: Socket): void {
    const far = connect(this.target, this.#host)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#ends.add(from)
      from.on('error', () => {})
      from.once('close', () => {
        this.#ends.delete(from)
        if (!this.#isSilent) to.destroy()
      })
      if (this.#isSilent) from.pause()
    }
    far.on('data', bytes => void near.write(bytes))
    near.on('data', bytes => this.#forward(bytes, far))
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
}
