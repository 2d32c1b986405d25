/** The few words of the X protocol, version 11, that reading windows takes; little-endian. */

export const replyKind = 1
export const genericEvent = 35
/** Of every reply, event and error; replies and generic events may be longer. */
export const answerBytes = 32

export const atoms = { string: 31, wmName: 39, wmClientMachine: 36, wmTransientFor: 68 }

/** Zero: no such atom, window or owner. */
export const none = 0

const words = (opcode: number, detail: number, ...values: number[]): Buffer => {
  const request = Buffer.alloc(4 + values.length * 4)
  request.writeUInt8(opcode, 0)
  request.writeUInt8(detail, 1)
  request.writeUInt16LE(request.length / 4, 2)
  values.forEach((value, index) => request.writeUInt32LE(value, 4 + index * 4))
  return request
}

/** Two 16-bit numbers in the order in which they are sent. */
const pair = (first: number, second: number): number =>
  ((first & 0xffff) | ((second & 0xffff) << 16)) >>> 0

export const requests = {
  getWindowAttributes: (window: number) => words(3, 0, window),
  getGeometry: (window: number) => words(14, 0, window),
  queryTree: (window: number) => words(15, 0, window),
  getProperty: (window: number, property: number, maxBytes: number) =>
    words(20, 0, window, property, 0, 0, Math.ceil(maxBytes / 4)),
  getSelectionOwner: (selection: number) => words(23, 0, selection),
  translateCoordinates: (from: number, to: number) => words(40, 0, from, to, pair(0, 0)),
  /** All planes, the rows as they lie in memory (ZPixmap). */
  getImage: (window: number, width: number, height: number) =>
    words(73, 2, window, pair(0, 0), pair(width, height), 0xffffffff),
  /** Only if there is such an atom: nothing is made by looking. */
  internAtom(name: string): Buffer {
    const padded = Buffer.alloc(Math.ceil(name.length / 4) * 4)
    padded.write(name, 'latin1')
    const request = Buffer.concat([words(16, 1, pair(name.length, 0)), padded])
    request.writeUInt16LE(request.length / 4, 2)
    return request
  },
} as const

/** The first message on a connection: who we are, and the key to the display. */
export function hello(keyName: string, key: Buffer): Buffer {
  const name = Buffer.from(keyName, 'latin1')
  const head = Buffer.alloc(12)
  head.write('l', 0)
  head.writeUInt16LE(11, 2)
  head.writeUInt16LE(name.length, 6)
  head.writeUInt16LE(key.length, 8)
  return Buffer.concat([head, pad(name), pad(key)])
}

function pad(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)])
}

/** The replies; each is called with at least 32 bytes. */
export const replies = {
  atom: (reply: Buffer) => reply.readUInt32LE(8),
  owner: (reply: Buffer) => reply.readUInt32LE(8),
  attributes: (reply: Buffer) =>
    reply.length < 44
      ? null
      : {
          visual: reply.readUInt32LE(8),
          /** Else it is only for input, and nothing is ever drawn of it. */
          drawn: reply.readUInt16LE(12) === 1,
          viewable: reply.readUInt8(26) === 2,
        },
  geometry: (reply: Buffer) => ({
    x: reply.readInt16LE(12),
    y: reply.readInt16LE(14),
    width: reply.readUInt16LE(16),
    height: reply.readUInt16LE(18),
    border: reply.readUInt16LE(20),
  }),
  position: (reply: Buffer) => ({ x: reply.readInt16LE(12), y: reply.readInt16LE(14) }),
  tree: (reply: Buffer) => ({
    parent: reply.readUInt32LE(12),
    /** The lowest first. */
    children: numbersOf(reply.subarray(answerBytes), reply.readUInt16LE(16)),
  }),
  property(reply: Buffer): Property {
    const width = reply.readUInt8(1) / 8
    const type = reply.readUInt32LE(8)
    const value = reply.subarray(answerBytes)
    return { type, width, value: value.subarray(0, reply.readUInt32LE(16) * width) }
  },
  image: (reply: Buffer) => ({
    depth: reply.readUInt8(1),
    visual: reply.readUInt32LE(8),
    bytes: reply.subarray(answerBytes),
  }),
} as const

/** `type` is 0 when the window has no such property. */
export interface Property {
  readonly type: number
  /** Bytes of an item: 1, 2 or 4. */
  readonly width: number
  readonly value: Buffer
}

/** Numbers of a property or a list; fewer than asked for when the bytes end before. */
export function numbersOf(bytes: Buffer, most: number = Infinity): number[] {
  const count = Math.min(Math.floor(bytes.length / 4), most)
  return Array.from({ length: count }, (_, index) => bytes.readUInt32LE(index * 4))
}
