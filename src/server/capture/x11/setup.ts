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

interface PixelFormat {
  readonly bitsPerPixel: number
  /** Rows end at a multiple of so many bits. */
  readonly rowPadBits: number
}

/** How a pixel is a colour. */
interface Visual {
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

/** An entry of a file of keys, Xau(3): who may speak to which display, and with which words. */
export interface DisplayKey {
  readonly family: number
  readonly address: Buffer
  readonly number: string
  readonly name: string
  readonly data: Buffer
}

const familyLocal = 256
const familyWild = 65_535
const cookie = 'MIT-MAGIC-COOKIE-1'

/** The entries up to the first that is damaged: what precedes it is still of use. */
export function parseXauthority(bytes: Buffer): DisplayKey[] {
  const keys: DisplayKey[] = []
  let at = 0
  const field = (): Buffer | null => {
    if (at + 2 > bytes.length) return null
    const end = at + 2 + bytes.readUInt16BE(at)
    if (end > bytes.length) return null
    const value = bytes.subarray(at + 2, end)
    at = end
    return value
  }
  while (at + 2 <= bytes.length) {
    const family = bytes.readUInt16BE(at)
    at += 2
    const [address, number, name, data] = [field(), field(), field(), field()]
    if (!address || !number || !name || !data) break
    keys.push({ family, address, number: String(number), name: String(name), data })
  }
  return keys
}

/** The key that Xlib would use: never one of another display or machine. */
export function chooseKey(
  keys: DisplayKey[],
  display: DisplayName,
  hostname: string,
): DisplayKey | null {
  const fits = ({ family, address, number, name }: DisplayKey): boolean =>
    name === cookie &&
    (number === '' || number === String(display.number)) &&
    // Those of loopback addresses are kept under the name of the machine, too.
    (family === familyWild || (family === familyLocal && String(address) === hostname))
  return keys.find(fits) ?? null
}

/** Where an X server listens, from `DISPLAY`. */
export interface DisplayName {
  /** Null: through a socket file; else an address of this machine, as `ssh -X` gives it. */
  readonly host: string | null
  readonly number: number
  readonly screen: number
}

/** `:0`, `:99.0`, `unix:0`, `localhost:10.0`; what is wrong otherwise. */
export function parseDisplayName(text: string | undefined): Result<DisplayName, string> {
  if (text === undefined || text === '') return fail('DISPLAY is not set')
  const match = /^([^:/\s]{0,255}):(\d{1,5})(?:\.(\d{1,3}))?$/.exec(text)
  if (match === null) return fail(`DISPLAY ${JSON.stringify(text.slice(0, 100))} names no display`)
  const [, host = '', number = '', screen = '0'] = match
  // X servers listen on 6000 + number.
  if (Number(number) > 65_535 - 6000) return fail(`DISPLAY names display ${number}: out of range`)
  const ownSocket = host === '' || host === 'unix'
  // A picture, and the key of the display, would cross the network in the clear.
  if (!ownSocket && !/^(localhost|127(\.\d{1,3}){3})$/.test(host)) {
    return fail(`DISPLAY ${JSON.stringify(text)} is on another machine`)
  }
  return ok({ host: ownSocket ? null : host, number: Number(number), screen: Number(screen) })
}
