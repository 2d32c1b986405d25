import { expect } from 'chai'
import fc from 'fast-check'
import { parseFrame } from '../../../../src/server/host/link/incoming.ts'
import { defaultLimits } from '../../../../src/lib/config/limits.ts'
import { codePoint } from '../../../helpers/code-point.ts'
import { type MessageForm, strictForms, tolerantForms } from './message-forms.ts'

const nowMs = Date.parse('2026-01-01T00:00:00Z')
const parse = (text: string) => parseFrame(text, nowMs, defaultLimits)
const forms = { ...strictForms, ...tolerantForms }

/** A message of the form, with all of its required members and some of the others. */
function messageOf(type: string, form: MessageForm): fc.Arbitrary<Record<string, unknown>> {
  const members = Object.fromEntries(Object.entries(form).map(([name, { good }]) => [name, good]))
  const requiredKeys = Object.keys(form).filter(name => form[name]?.required)
  return fc.record(members, { requiredKeys }).map(rest => ({ type, ...rest }))
}

/** Whatever is written, and whatever is done to it: one answer, and the right one. */
export function describeIncoming(numRuns: number): void {
  describe(`messages of the host link, ${numRuns} of each kind`, function () {
    this.timeout(60_000 + numRuns * 50)
    const runs = { numRuns }

    it('are one of five things, for any text', () => {
      const kinds = ['message', 'reply', 'refused', 'passed', 'broken']
      const words = Object.keys(forms).concat(
        'scene.set',
        'scene.patch',
        'ok',
        'error',
        'toString',
        '__proto__',
      )
      const object = fc.dictionary(
        fc.constantFrom('type', 'id', 'scene', 'records', '__proto__', 'document', 'size'),
        fc.oneof(fc.constantFrom(...words), fc.jsonValue()),
      )
      const text = fc.oneof(
        fc.string({ unit: codePoint }),
        fc.json(),
        object.map(value => JSON.stringify(value)),
        fc.tuple(object, fc.nat(), fc.string()).map(([value, at, piece]) => {
          const json = JSON.stringify(value)
          const cut = at % (json.length + 1)
          return json.slice(0, cut) + piece + json.slice(cut + 1)
        }),
      )
      fc.assert(
        fc.property(text, written => void expect(kinds).to.include(parse(written).kind)),
        runs,
      )
    })

    for (const [type, form] of Object.entries(forms)) {
      it(`takes every ${type} with its values`, () => {
        fc.assert(
          fc.property(messageOf(type, form), message => {
            const written = JSON.stringify(message)
            const frame = parse(written)
            if (frame.kind !== 'message') throw new Error(`${frame.kind}: ${written}`)
            const sent = JSON.parse(written) as Record<string, unknown>
            for (const [name, { taken }] of Object.entries(form)) {
              if (taken === undefined || sent[name] === undefined) continue
              expect(valueAt(frame.message, taken), name).to.deep.equal(sent[name])
            }
            expect(frame.id).to.equal(sent.id)
          }),
          runs,
        )
      })

      const wrong = Object.entries(form).flatMap(([name, { bad, required }]) => [
        ...bad.map(([value, pointer = `/${name}`]) => ({ name, value, pointer })),
        ...(required ? [undefined, null] : []).map(value => ({ name, value, pointer: `/${name}` })),
      ])
      if (wrong.length > 0)
        it(`names what is wrong in a ${type}`, () => {
          const cases = fc.tuple(messageOf(type, form), fc.constantFrom(...wrong))
          fc.assert(
            fc.property(cases, ([message, { name, value, pointer }]) => {
              const frame = parse(JSON.stringify({ ...message, [name]: value }))
              const said = frame.kind === 'refused' ? frame.message : frame.kind
              expect(said.split(' ')[0], JSON.stringify(value)).to.equal(pointer)
            }),
            { numRuns: Math.max(numRuns, wrong.length * 4) },
          )
        })

      // `null` is a document: none.
      const optional = Object.keys(form).filter(
        name => !form[name]?.required && name !== 'document',
      )
      if (optional.length > 0)
        it(`takes null in a ${type} for absent`, () => {
          fc.assert(
            fc.property(messageOf(type, form), fc.constantFrom(...optional), (message, name) => {
              const { [name]: _, ...without } = message
              const frames = [{ ...message, [name]: null }, without].map(one =>
                parse(JSON.stringify(one)),
              )
              expect(frames[0]).to.deep.equal(frames[1]).and.to.have.property('kind', 'message')
            }),
            runs,
          )
        })

      const tolerant = Object.hasOwn(tolerantForms, type)
      it(`${tolerant ? 'passes over' : 'names'} an unknown member of a ${type}`, () => {
        const unknown = fc.oneof(
          fc.constantFrom('__proto__', 'constructor', 'Type', 'ID'),
          fc.stringMatching(/^[a-z]{1,8}X$/),
        )
        fc.assert(
          fc.property(messageOf(type, form), unknown, fc.jsonValue(), (message, name, value) => {
            const text = JSON.stringify(message)
            const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`
            const frame = parse(`{${member},${text.slice(1)}`)
            if (tolerant) return void expect(frame.kind).to.equal('message')
            const said = frame.kind === 'refused' ? frame.message : frame.kind
            expect(said).to.equal(`/${name} is not known here`)
          }),
          runs,
        )
      })
    }

    it('keep the text of a scene byte for byte', () => {
      const spaced = fc.constantFrom('', ' ', '\n\t', '\r\n  ')
      const scene = fc.oneof(
        fc
          .dictionary(fc.string({ unit: codePoint }), fc.jsonValue())
          .map(one => JSON.stringify(one)),
        fc.constantFrom('{"b":1.50,"a":1e2,"b":-0}', '{"2":0,"1":12345678901234567890}', 'null'),
        fc.dictionary(fc.string(), fc.jsonValue()).map(one => JSON.stringify(one, null, 2)),
      )
      fc.assert(
        fc.property(scene, spaced, fc.boolean(), (text, space, first) => {
          const member = `"scene"${space}:${space}${text}${space}`
          const rest = `"type":"scene.set"`
          const written = first ? `{${member},${rest}}` : `${space}{${rest},${space}${member}}`
          expect(parse(written)).to.deep.equal({
            kind: 'message',
            id: undefined,
            message: { type: 'scene.set', text },
          })
        }),
        runs,
      )
    })
  })
}

function valueAt(message: object, path: string): unknown {
  let value: unknown = message
  for (const name of path.split('.')) value = (value as Record<string, unknown>)[name]
  return value
}
