import { fail, ok, type Result } from '../../../lib/util/result.ts'

/** What an X server tells of itself when it accepts a connection. */
export interface DisplaySetup {
  /** Of the bytes of pictures. */
  readonly imageOrder: 'little' | 'big'
  /** How the pixels of a depth lie in memory. */
  readonly formats: ReadonlyMap<number, PixelFormat>
  readonly visuals: ReadonlyMap<number, Visual>
  readonly screens: readonly Screen[]
}

export interface PixelFormat {
  readonly bitsPerPixel: number
  /** Rows end at a multiple of so many bits. */
  readonly rowPadBits: number
}

/** How a pixel is a colour. */
export interface Visual {
  /** Else a pixel is an index into a table of colours. */
  readonly trueColour: boolean
  readonly red: number
  readonly green: number
  readonly blue: number
}

export interface Screen {
  readonly root: number
  readonly width: number
  readonly height: number
}

const headBytes = 8
const trueColour = 4

/** Bytes of the first answer, from its first 8 bytes. */
export function setupBytes(head: Buffer): number {
  return headBytes + head.readUInt16LE(6) * 4
}

/** The first answer, whole; a refusal in the server's words otherwise. */
export function parseSetup(bytes: Buffer): Result<DisplaySetup, string> {
  try {
    return bytes.readUInt8(0) === 1 ? ok(readSetup(bytes)) : fail(refusal(bytes))
  } catch (error) {
    if (error instanceof RangeError) return fail('its greeting is damaged')
    throw error
  }
}

function refusal(bytes: Buffer): string {
  const length = Math.min(bytes.readUInt8(1), bytes.length - headBytes)
  const words = bytes.toString('latin1', headBytes, headBytes + length)
  const shown = words.replace(/[^\x20-\x7e]+/g, ' ').trim()
  return shown === '' ? 'it refused the connection' : `it refused the connection: ${shown}`
}

function readSetup(bytes: Buffer): DisplaySetup {
  const formats = new Map<number, PixelFormat>()
  const visuals = new Map<number, Visual>()
  const screens: Screen[] = []
  const vendorBytes = Math.ceil(bytes.readUInt16LE(24) / 4) * 4
  let at = 40 + vendorBytes
  for (let left = bytes.readUInt8(29); left > 0; left--, at += 8) {
    formats.set(bytes.readUInt8(at), {
      bitsPerPixel: bytes.readUInt8(at + 1),
      rowPadBits: bytes.readUInt8(at + 2),
    })
  }
  for (let left = bytes.readUInt8(28); left > 0; left--) {
    screens.push({
      root: bytes.readUInt32LE(at),
      width: bytes.readUInt16LE(at + 20),
      height: bytes.readUInt16LE(at + 22),
    })
    const depths = bytes.readUInt8(at + 39)
    at = readVisuals(bytes, at + 40, depths, visuals)
  }
  return { imageOrder: bytes.readUInt8(30) === 0 ? 'little' : 'big', formats, visuals, screens }
}

function readVisuals(bytes: Buffer, start: number, depths: number, into: Map<number, Visual>) {
  let at = start
  for (let depth = 0; depth < depths; depth++) {
    const count = bytes.readUInt16LE(at + 2)
    at += 8
    for (let index = 0; index < count; index++, at += 24) {
      into.set(bytes.readUInt32LE(at), {
        trueColour: bytes.readUInt8(at + 4) === trueColour,
        red: bytes.readUInt32LE(at + 8),
        green: bytes.readUInt32LE(at + 12),
        blue: bytes.readUInt32LE(at + 16),
      })
    }
  }
  return at
}
