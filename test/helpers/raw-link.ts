import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type LinkAddress, helloOf } from './link.ts'

interface FrameForm {
  opcode?: number
  fin?: boolean
  /** Told in place of the true length. */
  declared?: number
}

export const opcodes = { more: 0, text: 1, binary: 2, close: 8, ping: 9 } as const

/** One masked frame, whole or not. */
export function frameOf(payload: Buffer | string, form: FrameForm = {}): Buffer {
  const { opcode = opcodes.text, fin = true } = form
  const bytes = Buffer.from(payload)
  const length = form.declared ?? bytes.length
  const first = (fin ? 0x80 : 0) | opcode
  const mask = 0x80
  let head: Buffer
  if (length < 126) head = Buffer.from([first, mask | length])
  else if (length < 65_536) {
    head = Buffer.from([first, mask | 126, 0, 0])
    head.writeUInt16BE(length, 2)
  } else {
    head = Buffer.alloc(10)
    head.set([first, mask | 127])
    head.writeBigUInt64BE(BigInt(length), 2)
  }
  const key = randomBytes(4)
  const body = bytes.map((byte, index) => byte ^ (key[index % 4] ?? 0))
  return Buffer.concat([head, key, body])
}

interface ServerFrame {
  readonly opcode: number
  readonly payload: Buffer
}

/** A link spoken by hand: half frames, wrong frames, half handshakes, hard cuts. */
export class RawLink {
  readonly socket: Socket
  readonly frames: ServerFrame[] = []
  ended = false
  #received: Buffer = Buffer.alloc(0)
  #waiting: (() => void)[] = []
  #isOpen = false

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', bytes => {
      this.#received = Buffer.concat([this.#received, bytes])
      if (this.#isOpen) this.#takeFrames()
      this.#wake()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.ended = true
      this.#wake()
    })
  }

  /** Past the handshake. */
  static async open(serve: LinkAddress): Promise<RawLink> {
    const { hostname, port } = new URL(serve.hostUrl)
    const socket = connect({ host: hostname, port: Number(port) })
    await once(socket, 'connect')
    const link = new RawLink(socket)
    link.write(handshakeOf(serve))
    await link.until(() => link.#received.includes('\r\n\r\n'), 'the answer to the handshake')
    const end = link.#received.indexOf('\r\n\r\n') + 4
    const head = link.#received.subarray(0, end).toString('latin1')
    if (!head.startsWith('HTTP/1.1 101 ')) throw new Error(link.#received.toString('latin1'))
    link.#received = link.#received.subarray(end)
    link.#isOpen = true
    link.#takeFrames()
    return link
  }

  /** Past the welcome. */
  static async connect(
    serve: LinkAddress,
    members: Record<string, unknown> = {},
  ): Promise<RawLink> {
    const link = await RawLink.open(serve)
    link.text(helloOf(members))
    await link.until(() => link.messages.length > 0, 'welcome')
    if (link.messages[0].type !== 'welcome') throw new Error(JSON.stringify(link.messages[0]))
    return link
  }

  get messages(): any[] {
    return this.frames
      .filter(({ opcode }) => opcode === opcodes.text)
      .map(({ payload }) => JSON.parse(payload.toString('utf8')))
  }

  /** Of the close frame that came; null before. */
  get closeCode(): number | null {
    const frame = this.frames.find(({ opcode }) => opcode === opcodes.close)
    return frame === undefined ? null : frame.payload.readUInt16BE(0)
  }

  write(bytes: Buffer | string): void {
    this.socket.write(bytes)
  }

  text(message: object): void {
    this.write(frameOf(JSON.stringify(message)))
  }

  /** RST: what was not sent yet is lost, and nobody says good-bye. */
  reset(): void {
    this.socket.resetAndDestroy()
  }

  /** FIN after what was written. */
  end(): void {
    this.socket.end()
  }

  /** Waits for the condition or the end of the connection; fails when neither comes. */
  async until(condition: () => boolean, what: string, deadlineMs = 55_000): Promise<void> {
    let late = false
    const timer = setTimeout(() => {
      late = true
      this.#wake()
    }, deadlineMs)
    while (!condition() && !this.ended && !late) {
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    }
    clearTimeout(timer)
    if (late && !condition()) throw new Error(`not within ${deadlineMs} ms: ${what}`)
  }

  /** Waits for the end; returns the code of the close frame before it. */
  async untilClosed(): Promise<number | null> {
    await this.until(() => this.closeCode !== null, 'a close frame')
    this.end()
    await this.until(() => this.ended, 'the end of the connection')
    return this.closeCode
  }

  #takeFrames(): void {
    for (;;) {
      const frame = splitFrame(this.#received)
      if (frame === null) return
      this.#received = frame.rest
      this.frames.push(frame)
    }
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }
}

/** The opening request. */
function handshakeOf({ hostUrl, token }: LinkAddress): string {
  return [
    'GET /host HTTP/1.1',
    `Host: ${new URL(hostUrl).host}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
    'Sec-WebSocket-Protocol: dcc-host.v1',
    `Authorization: Bearer ${token}`,
    '\r\n',
  ].join('\r\n')
}

/** The server masks nothing and fragments nothing. */
function splitFrame(bytes: Buffer): (ServerFrame & { rest: Buffer }) | null {
  if (bytes.length < 2) return null
  const opcode = bytes.readUInt8(0) & 0x0f
  const short = bytes.readUInt8(1)
  const start = short === 127 ? 10 : short === 126 ? 4 : 2
  if (bytes.length < start) return null
  let length = short
  if (short === 126) length = bytes.readUInt16BE(2)
  if (short === 127) length = Number(bytes.readBigUInt64BE(2))
  const end = start + length
  if (bytes.length < end) return null
  return { opcode, payload: bytes.subarray(start, end), rest: bytes.subarray(end) }
}
