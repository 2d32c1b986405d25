import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect } from 'chai'
import fc from 'fast-check'
import { systemTimer } from '../../src/lib/util/time.ts'
import { createWindowBackends } from '../../src/server/capture/window-backends.ts'
import { windowCaptureLimits } from '../../src/server/capture/window-limits.ts'
import { AnswerReader, AnswerTooLong } from '../../src/server/capture/x11/answers.ts'
import { describeImage } from '../../src/server/capture/x11/backend.ts'
import { parseSetup } from '../../src/server/capture/x11/setup.ts'

const root = 0x100
const visual = 0x21

interface Greeting {
  readonly imageOrder?: 0 | 1
  readonly screens?: number
  readonly trueColour?: boolean
}

/** The first answer of an X server with one format, one depth and one visual on each screen. */
function greeting({ imageOrder = 0, screens = 1, trueColour = true }: Greeting = {}): Buffer {
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

function refusal(reason: string): Buffer {
  const words = Buffer.alloc(Math.ceil(reason.length / 4) * 4)
  words.write(reason, 'latin1')
  const head = Buffer.from([0, reason.length, 11, 0, 0, 0, words.length / 4, 0])
  return Buffer.concat([head, words])
}

/** A reply to a request of this connection. */
function reply(sequence: number, detail: number, fixed: Buffer, more = Buffer.alloc(0)) {
  const padded = Buffer.concat([more, Buffer.alloc((4 - (more.length % 4)) % 4)])
  const head = Buffer.alloc(32)
  head.writeUInt8(1, 0)
  head.writeUInt8(detail, 1)
  head.writeUInt16LE(sequence, 2)
  head.writeUInt32LE(padded.length / 4, 4)
  fixed.copy(head, 8)
  return Buffer.concat([head, padded])
}

interface Script {
  /** Null: nothing is said. */
  greeting: Buffer | null
  /** Null: no answer. */
  answer(sequence: number): Buffer | null
  /** Ends the connection once so many requests were read. */
  endAfter?: number
}

/** Listens as an X server does, and says what it is told to. */
async function fakeDisplay(script: Script) {
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    converse(socket, script)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    name: `127.0.0.1:${port - 6000}`,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function converse(socket: Socket, script: Script): void {
  let pending = Buffer.alloc(0)
  let sequence = -1
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    for (;;) {
      const length = sequence < 0 ? helloLength(pending) : requestLength(pending)
      if (length === null || pending.length < length) return
      pending = pending.subarray(length)
      sequence++
      if (script.endAfter === sequence) return void socket.destroy()
      const answer = sequence === 0 ? script.greeting : script.answer(sequence & 0xffff)
      if (answer !== null) socket.write(answer)
    }
  })
}

function helloLength(bytes: Buffer): number | null {
  if (bytes.length < 12) return null
  const padded = (length: number): number => Math.ceil(length / 4) * 4
  return 12 + padded(bytes.readUInt16LE(6)) + padded(bytes.readUInt16LE(8))
}

function requestLength(bytes: Buffer): number | null {
  return bytes.length < 4 ? null : bytes.readUInt16LE(2) * 4
}

function setupOf(...asked: Parameters<typeof greeting>) {
  const setup = parseSetup(greeting(...asked))
  if (!setup.ok) throw new Error(setup.failure)
  return setup.value
}

describe('the X11 backend', () => {
  const target = { pid: process.pid, title: null }
  const silent = (): null => null
  const probe = async (env: Record<string, string>) =>
    createWindowBackends({ env, timer: systemTimer }).x11.probe(target)

  /** What a backend says of a display that behaves like this. */
  async function meet(script: Script, displayTimeoutMs = 3000) {
    const display = await fakeDisplay(script)
    const limits = { ...windowCaptureLimits, displayTimeoutMs }
    const env = { DISPLAY: display.name, XAUTHORITY: '/nowhere' }
    const backend = createWindowBackends({ env, timer: systemTimer, limits }).x11
    const form = { maxWidth: 1000, maxBytes: 1e6, signal: AbortSignal.timeout(10_000) }
    try {
      const probed = await backend.probe(target)
      const captured = await backend.capture(target, form)
      return {
        probe: probed.ok ? 'ok' : probed.failure.reason,
        said: probed.ok ? '' : probed.failure.message,
        capture: captured.ok ? 'ok' : captured.failure.reason,
      }
    } finally {
      await backend.close?.()
      await display.close()
    }
  }

  it('is not available without DISPLAY or where nothing listens, and says how it would be', async () => {
    expect(await probe({}))
      .to.have.property('failure')
      .that.includes({ reason: 'no_display', message: 'DISPLAY is not set' })
    const hinted = await probe({ WAYLAND_DISPLAY: 'w' })
    expect(hinted).to.have.nested.property('failure.hint').that.includes('XWayland')
    const display = await fakeDisplay({ greeting: null, answer: silent })
    await display.close()
    const gone = await probe({ DISPLAY: display.name })
    expect(gone).to.have.nested.property('failure.message').that.includes('nothing answers')
  })

  const displays: Record<string, [script: Script, probe: string, capture: string]> = {
    'says nothing': [{ greeting: null, answer: silent }, 'no_display', 'timeout'],
    'answers nothing': [{ greeting: greeting(), answer: silent }, 'no_display', 'timeout'],
    'goes away': [{ greeting: greeting(), answer: silent, endAfter: 3 }, 'no_display', 'failed'],
    'has no screens': [
      { greeting: greeting({ screens: 0 }), answer: silent },
      'no_display',
      'no_display',
    ],
    'has no window manager': [
      // No atom and no property: nobody ever named one.
      { greeting: greeting(), answer: sequence => reply(sequence, 0, Buffer.alloc(24)) },
      'no_window_manager',
      'failed',
    ],
  }
  for (const [name, [script, probed, captured]] of Object.entries(displays)) {
    it(`bears a display that ${name}`, async () => {
      expect(await meet(script, 200)).to.include({ probe: probed, capture: captured })
    })
  }

  it('repeats why a display refuses, without what would disturb a terminal', async () => {
    const reason = 'No protocol specified\x1b[2J\n'
    const met = await meet({ greeting: refusal(reason), answer: silent })
    expect(met).to.include({ probe: 'no_display', capture: 'no_display' })
    expect(met.said).to.include('it refused the connection: No protocol specified [2J')
  })

  it('bears answers of any content', async () => {
    const fixed = fc.uint8Array({ minLength: 24, maxLength: 24 })
    const detail = fc.constantFrom(0, 8, 24, 32)
    const answer = fc.record({ detail, fixed, more: fc.uint8Array({ maxLength: 64 }) })
    const answers = fc.array(answer, { minLength: 1, maxLength: 20 })
    const nothing = { detail: 0, fixed: new Uint8Array(24), more: new Uint8Array() }
    const fuzz = fc.asyncProperty(answers, async list => {
      const met = await meet({
        greeting: greeting(),
        answer(sequence) {
          const { detail: given, fixed: bytes, more } = list[sequence % list.length] ?? nothing
          return reply(sequence, given, Buffer.from(bytes), Buffer.from(more))
        },
      })
      expect(met.capture).to.not.equal('ok')
    })
    await fc.assert(fuzz)
  })
})

describe('what a display sends', () => {
  const event = (kind: number, words = 0): Buffer => {
    const bytes = Buffer.alloc(32 + words * 4)
    bytes.writeUInt8(kind, 0)
    bytes.writeUInt32LE(kind === 35 ? words : 0xffffffff, 4)
    return bytes
  }
  const refused = Buffer.alloc(32)
  refused.writeUInt8(8, 1)
  refused.writeUInt16LE(3, 2)

  it('is cut into answers, in pieces of any size, without events', () => {
    const sent = Buffer.concat([
      greeting(),
      reply(1, 7, Buffer.from([1])),
      event(12),
      reply(2, 0, Buffer.alloc(0), Buffer.from('some more')),
      event(35, 3),
      refused,
    ])
    const sizes = fc.array(fc.integer({ min: 1, max: 80 }), { minLength: 1, maxLength: 50 })
    fc.assert(
      fc.property(sizes, pieces => {
        const reader = new AnswerReader(1000)
        const answers = []
        for (let at = 0, turn = 0; at < sent.length; turn++) {
          const size = pieces[turn % pieces.length] ?? 1
          answers.push(...reader.read(sent.subarray(at, at + size)))
          at += size
        }
        expect(answers.map(({ kind }) => kind)).to.deep.equal(['setup', 'reply', 'reply', 'error'])
        const [first, , third, fourth] = answers
        expect(first).to.have.property('bytes').that.deep.equals(greeting())
        expect(third).to.include({ sequence: 2 })
        expect(fourth).to.deep.equal({ kind: 'error', sequence: 3, code: 8 })
      }),
    )
  })

  it('is refused when an answer is longer than anything asked for', () => {
    const reader = new AnswerReader(1000)
    Array.from(reader.read(greeting()))
    const long = event(1)
    long.writeUInt32LE(1000, 4)
    expect(() => Array.from(reader.read(long))).to.throw(AnswerTooLong)
  })

  it('begins with screens, formats and colours, and may be any bytes', () => {
    const { screens, formats, visuals, imageOrder } = setupOf({ screens: 2, imageOrder: 1 })
    expect(screens).to.deep.equal(Array(2).fill({ root, width: 640, height: 480 }))
    expect(formats.get(24)).to.deep.equal({ bitsPerPixel: 32, rowPadBits: 32 })
    const colours = { trueColour: true, red: 0xff0000, green: 0xff00, blue: 0xff }
    expect(visuals.get(visual)).to.deep.equal(colours)
    expect(imageOrder).to.equal('big')
    const whole = greeting()
    const damaged = fc.tuple(fc.nat(whole.length), fc.nat(whole.length - 1), fc.nat(255))
    fc.assert(
      fc.property(damaged, ([length, at, value]) => {
        const bytes = Buffer.from(whole)
        bytes[at] = value
        parseSetup(bytes.subarray(0, Math.max(8, length)))
      }),
    )
  })
})

describe('the pixels that a display sends', () => {
  const size = { width: 3, height: 2 }
  const image = { depth: 24, visual, bytes: Buffer.alloc(24) }

  it('are in rows, which may be filled up, and in the order of bytes of the display', () => {
    const raw = describeImage(image, setupOf(), size)
    if (!raw.ok) throw new Error(raw.failure)
    expect(raw.value).to.include({ ...size, stride: 12 })
    const colours = { red: 0xff0000, green: 0xff00, blue: 0xff }
    expect(raw.value.layout).to.deep.equal({ bytesPerPixel: 4, order: 'little', ...colours })
    const big = describeImage(image, setupOf({ imageOrder: 1 }), size)
    expect(big).to.have.nested.property('value.layout.order', 'big')
    const formats = new Map([[24, { bitsPerPixel: 24, rowPadBits: 32 }]])
    const five = { ...image, bytes: Buffer.alloc(32) }
    const filled = describeImage(five, { ...setupOf(), formats }, { width: 5, height: 2 })
    expect(filled).to.have.nested.property('value.stride', 16)
  })

  for (const [name, changed, asked, part] of [
    ['of an unknown depth', { depth: 30 }, {}, 'depth 30'],
    ['of unknown colours', { visual: 1 }, {}, 'depth 24'],
    ['that are cut short', { bytes: Buffer.alloc(23) }, {}, 'cut short'],
    ['that are indexes into a table of colours', {}, { trueColour: false }, 'not read'],
  ] as const) {
    it(`are refused ${name}`, () => {
      const raw = describeImage({ ...image, ...changed }, setupOf(asked), size)
      expect(raw).to.have.property('failure').that.includes(part)
    })
  }
})
