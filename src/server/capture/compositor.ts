import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { homedir, hostname } from 'node:os'
import { join } from 'node:path'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import type { Unavailable } from './backend.ts'

/** The display must have answered within this time. */
const answerMs = 1000

/**
 * Whether each window of the X display has its pixels to itself. Without a compositor a picture of
 * a covered window shows the program above it. A compositor holds the selection `_NET_WM_CM_Sn` for
 * as long as it runs (EWMH), which no program but a client of the display can ask for.
 */
export async function checkCompositor(env: NodeJS.ProcessEnv): Promise<Result<null, Unavailable>> {
  const { DISPLAY = '', WAYLAND_DISPLAY } = env
  const [, number, screen = '0'] = /^(?:unix)?:(\d{1,5})(?:\.(\d{1,3}))?$/.exec(DISPLAY) ?? []
  if (number === undefined) {
    const message = `DISPLAY ${JSON.stringify(DISPLAY)} names no display of this machine`
    return fail(noDisplay(message, WAYLAND_DISPLAY !== undefined))
  }
  try {
    const key = await displayKey(env.XAUTHORITY || join(homedir(), '.Xauthority'), number)
    if (await ownsSelection(number, key, `_NET_WM_CM_S${screen}`)) return ok(null)
  } catch {
    const message = `display ${DISPLAY} does not answer, or refuses this program`
    return fail(noDisplay(message, WAYLAND_DISPLAY !== undefined))
  }
  return fail({
    reason: 'no_compositor',
    message: `no compositor runs on display ${DISPLAY}: pictures would show windows of other programs`,
    hint: 'start one, for example picom, or an application that draws its own picture',
  })
}

function noDisplay(message: string, isWayland: boolean): Unavailable {
  const hint = isWayland
    ? 'windows of Wayland itself cannot be seen from outside: start the application under XWayland, or let it draw itself through its add-on'
    : 'start serve in the session of the desktop, with its DISPLAY and XAUTHORITY'
  return { reason: 'no_display', message, hint }
}

const cookie = 'MIT-MAGIC-COOKIE-1'
const anyAddress = 65_535

/** The key of this display in a file of keys, Xau(3); empty when there is none. */
async function displayKey(path: string, number: string): Promise<Buffer> {
  const bytes = await readFile(path).catch(() => Buffer.alloc(0))
  for (let at = 0; at + 2 <= bytes.length;) {
    const family = bytes.readUInt16BE(at)
    at += 2
    const fields = Array.from({ length: 4 }, () => {
      const end = at + 2 + (at + 2 <= bytes.length ? bytes.readUInt16BE(at) : 0)
      const field = bytes.subarray(at + 2, end)
      at = end
      return field
    })
    const [address, display, name, data = Buffer.alloc(0)] = fields
    const isHere = family === anyAddress || String(address) === hostname()
    if (isHere && ['', number].includes(String(display)) && String(name) === cookie) return data
  }
  return Buffer.alloc(0)
}

/** X11 protocol, appendix B: the connection setup, `InternAtom` and `GetSelectionOwner`. */
async function ownsSelection(number: string, key: Buffer, selection: string): Promise<boolean> {
  const signal = AbortSignal.timeout(answerMs)
  const socket = connect(`/tmp/.X11-unix/X${number}`)
  // After the wait for an answer has ended.
  socket.on('error', () => {})
  try {
    const name = key.length === 0 ? '' : cookie
    const hello = Buffer.from([0x6c, 0, 11, 0, 0, 0, name.length, 0, key.length, 0, 0, 0])
    socket.write(Buffer.concat([hello, padded(Buffer.from(name)), padded(key)]))
    const greeting = await take(socket, 8, signal)
    if (greeting[0] !== 1) throw new Error('the display refused the connection')
    await take(socket, greeting.readUInt16LE(6) * 4, signal)
    const words = padded(Buffer.from(selection))
    const intern = Buffer.from([16, 1, 2 + words.length / 4, 0, selection.length, 0, 0, 0])
    socket.write(Buffer.concat([intern, words]))
    const atom = (await take(socket, 32, signal)).subarray(8, 12)
    if (atom.readUInt32LE() === 0) return false
    socket.write(Buffer.concat([Buffer.from([23, 0, 2, 0]), atom]))
    return (await take(socket, 32, signal)).readUInt32LE(8) !== 0
  } finally {
    socket.destroy()
  }
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)])
}

async function take(socket: Socket, length: number, signal: AbortSignal): Promise<Buffer> {
  for (;;) {
    const bytes = socket.read(length) as Buffer | null
    if (bytes?.length === length) return bytes
    await once(socket, 'readable', { signal })
  }
}
