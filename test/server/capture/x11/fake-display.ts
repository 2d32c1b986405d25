import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

/** What the greeting of a display says of itself. */
export interface Greeting {
  readonly imageOrder?: 0 | 1
  readonly screens?: number
  readonly trueColour?: boolean
}

export const root = 0x100
export const visual = 0x21

/** The first answer of an X server with one format, one depth and one visual on each screen. */
export function greeting({
  imageOrder = 0,
  screens = 1,
  trueColour = true,
}: Greeting = {}): Buffer {
  const vendor = Buffer.from('test')
  const head = Buffer.alloc(40)
  head.writeUInt8(1, 0)
  head.writeUInt16LE(11, 2)
  head.writeUInt16LE(vendor.length, 24)
  head.writeUInt8(screens, 28)
  head.writeUInt8(1, 29)
  head.writeUInt8(imageOrder, 30)
  const format = Buffer.from([24, 32, 32, 0, 0, 0, 0, 0])
  const screen = Buffer.alloc(40 + 8 + 24)
  screen.writeUInt32LE(root, 0)
  screen.writeUInt16LE(640, 20)
  screen.writeUInt16LE(480, 22)
  screen.writeUInt8(1, 39)
  screen.writeUInt8(24, 40)
  screen.writeUInt16LE(1, 42)
  screen.writeUInt32LE(visual, 48)
  screen.writeUInt8(trueColour ? 4 : 3, 52)
  screen.writeUInt32LE(0xff0000, 56)
  screen.writeUInt32LE(0xff00, 60)
  screen.writeUInt32LE(0xff, 64)
  const all = Buffer.concat([head, vendor, format, ...Array<Buffer>(screens).fill(screen)])
  all.writeUInt16LE((all.length - 8) / 4, 6)
  return all
}

export function refusal(reason: string): Buffer {
  const words = Buffer.alloc(Math.ceil(reason.length / 4) * 4)
  words.write(reason, 'latin1')
  const head = Buffer.from([0, reason.length, 11, 0, 0, 0, words.length / 4, 0])
  return Buffer.concat([head, words])
}

/** A reply to a request of this connection. */
export function reply(sequence: number, detail: number, fixed: Buffer, more = Buffer.alloc(0)) {
  const padded = Buffer.concat([more, Buffer.alloc((4 - (more.length % 4)) % 4)])
  const head = Buffer.alloc(32)
  head.writeUInt8(1, 0)
  head.writeUInt8(detail, 1)
  head.writeUInt16LE(sequence, 2)
  head.writeUInt32LE(padded.length / 4, 4)
  fixed.copy(head, 8)
  return Buffer.concat([head, padded])
}

export function refusedRequest(sequence: number, code: number): Buffer {
  const bytes = Buffer.alloc(32)
  bytes.writeUInt8(code, 1)
  bytes.writeUInt16LE(sequence, 2)
  return bytes
}

export interface Script {
  /** Null: nothing is said. */
  greeting: Buffer | null
  /** Null: no answer. */
  answer(sequence: number, request: Buffer): Buffer | null
  /** Ends the connection once so many requests were read. */
  endAfter?: number
}

export interface FakeDisplay {
  readonly name: string
  /** The name and the key of the last visitor. */
  readonly shown: { name: string; key: string }
  close(): Promise<void>
}

/** Listens as an X server does, and says what it is told to. */
export async function fakeDisplay(script: Script): Promise<FakeDisplay> {
  const sockets = new Set<Socket>()
  const shown = { name: '', key: '' }
  const server: Server = createServer({ noDelay: true }, socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    converse(socket, script, shown)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    name: `127.0.0.1:${port - 6000}`,
    shown,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function converse(socket: Socket, script: Script, shown: FakeDisplay['shown']): void {
  let pending = Buffer.alloc(0)
  let sequence = -1
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    for (;;) {
      const length = sequence < 0 ? helloLength(pending) : requestLength(pending)
      if (length === null || pending.length < length) return
      const message = pending.subarray(0, length)
      pending = pending.subarray(length)
      sequence++
      if (sequence === 0) readHello(message, shown)
      if (script.endAfter === sequence) return void socket.destroy()
      const answer = sequence === 0 ? script.greeting : script.answer(sequence & 0xffff, message)
      if (answer !== null) socket.write(answer)
    }
  })
}

const padded = (length: number): number => Math.ceil(length / 4) * 4

function helloLength(bytes: Buffer): number | null {
  if (bytes.length < 12) return null
  return 12 + padded(bytes.readUInt16LE(6)) + padded(bytes.readUInt16LE(8))
}

function readHello(bytes: Buffer, shown: FakeDisplay['shown']): void {
  const nameLength = bytes.readUInt16LE(6)
  shown.name = bytes.toString('latin1', 12, 12 + nameLength)
  const at = 12 + padded(nameLength)
  shown.key = bytes.toString('latin1', at, at + bytes.readUInt16LE(8))
}

function requestLength(bytes: Buffer): number | null {
  return bytes.length < 4 ? null : bytes.readUInt16LE(2) * 4
}
