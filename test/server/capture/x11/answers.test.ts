import { expect } from 'chai'
import fc from 'fast-check'
import { AnswerReader, AnswerTooLong } from '../../../../src/server/capture/x11/answers.ts'
import { parseSetup } from '../../../../src/server/capture/x11/setup.ts'
import { greeting, refusal, refusedRequest, reply, root, visual } from './fake-display.ts'

const event = (kind: number, words = 0): Buffer => {
  const bytes = Buffer.alloc(32 + words * 4)
  bytes.writeUInt8(kind, 0)
  bytes.writeUInt32LE(kind === 35 ? words : 0xffffffff, 4)
  return bytes
}

const sent = Buffer.concat([
  greeting(),
  reply(1, 7, Buffer.from([1])),
  event(12),
  reply(2, 0, Buffer.alloc(0), Buffer.from('some more')),
  event(35, 3),
  refusedRequest(3, 8),
])

describe('AnswerReader', () => {
  it('cuts what arrives into answers, in pieces of any size, and drops events', () => {
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

  it('refuses an answer that is longer than anything asked for', () => {
    const reader = new AnswerReader(1000)
    Array.from(reader.read(greeting()))
    const long = event(1)
    long.writeUInt32LE(1000, 4)
    expect(() => Array.from(reader.read(long))).to.throw(AnswerTooLong)
  })

  it('gives a large answer memory of its own, to be handed on', () => {
    const reader = new AnswerReader(100_000)
    Array.from(reader.read(greeting()))
    const [answer] = Array.from(reader.read(reply(1, 0, Buffer.alloc(0), Buffer.alloc(50_000, 7))))
    const bytes = answer?.kind === 'reply' ? answer.bytes : Buffer.alloc(0)
    expect(bytes.buffer.byteLength).to.equal(50_032)
    expect(bytes.at(-1)).to.equal(7)
  })
})

describe('parseSetup', () => {
  it('reads screens, formats and colours', () => {
    const setup = parseSetup(greeting({ screens: 2, imageOrder: 1 }))
    if (!setup.ok) throw new Error(setup.failure)
    const { screens, formats, visuals, imageOrder } = setup.value
    expect(screens).to.deep.equal(Array(2).fill({ root, width: 640, height: 480 }))
    expect(formats.get(24)).to.deep.equal({ bitsPerPixel: 32, rowPadBits: 32 })
    const colours = { trueColour: true, red: 0xff0000, green: 0xff00, blue: 0xff }
    expect(visuals.get(visual)).to.deep.equal(colours)
    expect(imageOrder).to.equal('big')
  })

  it('repeats why the display refused, without what would disturb a terminal', () => {
    const refused = parseSetup(refusal('No protocol specified\x1b[2J\n'))
    expect(refused).to.deep.equal({
      ok: false,
      failure: 'it refused the connection: No protocol specified [2J',
    })
  })

  it('takes any bytes', () => {
    const whole = greeting()
    const damaged = fc.tuple(fc.nat(whole.length), fc.nat(whole.length - 1), fc.nat(255))
    fc.assert(
      fc.property(damaged, ([length, at, value]) => {
        const bytes = Buffer.from(whole)
        bytes[at] = value
        parseSetup(bytes.subarray(0, Math.max(8, length)))
      }),
      { numRuns: 1000 },
    )
  })
})
