import { expect } from 'chai'
import fc from 'fast-check'
import { parseFrame } from '../../../../src/server/host/link/incoming.ts'
import { codePoint } from '../../../helpers/code-point.ts'

/** One member of a message: what it may be, what it must not be, and where it ends up. */
interface MemberForm {
  readonly good: fc.Arbitrary<unknown>
  /** A value, and the pointer of what is wrong in it when that is deeper. */
  readonly bad: readonly (readonly [value: unknown, pointer?: string])[]
  readonly required?: true
  /** Path in the parsed message; absent: the parser only checks it. */
  readonly taken?: string
}

type MessageForm = Readonly<Record<string, MemberForm>>

const maxFieldChars = 255
const maxUriChars = 2048
const maxHostBatch = 100
const maxEventMetadataBytes = 4096
const lineChars = fc.string({ unit: 'grapheme' }).map(text => text.replaceAll(/[\0-\x1f\x7f]/g, ''))
const name = (most: number) => lineChars.map(text => `n${text}`.slice(0, most))
const wrongTypes = [[5], [{}]] as const
const wrongNames = [...wrongTypes, [''], ['a\nb']] as const
const long = (most: number) => 'x'.repeat(most + 1)

function nameForm(taken: string, most: number = maxFieldChars): MemberForm {
  return { good: name(most), bad: [...wrongNames, [long(most)]], taken }
}

const required = (form: MemberForm): MemberForm => ({ ...form, required: true })
const anyValue = (taken: string): MemberForm => ({
  good: fc.jsonValue().filter(value => value !== null),
  bad: [],
  taken,
})
const wholeNumber = (taken: string, least: number, most: number): MemberForm => ({
  good: fc.oneof(fc.constantFrom(least, most), fc.integer({ min: least, max: most })),
  bad: [['1'], [least - 1], [most + 1], [least + 0.5]],
  taken,
})
const sessionId: MemberForm = {
  good: fc.stringMatching(/^[A-Za-z0-9_~:@+-][A-Za-z0-9._~:@+-]{0,127}$/),
  bad: [...wrongTypes, [''], ['a/b'], ['..'], [long(128)]],
  required: true,
  taken: 'sessionId',
}
const mode: MemberForm = {
  good: fc.constantFrom('gui', 'background'),
  bad: [...wrongTypes, ['GUI']],
  taken: 'mode',
}
/** A file name may hold any character. */
const fileName = fc.string({ unit: codePoint, minLength: 1, maxLength: 2000 })
const greetingDocument: MemberForm = {
  good: fc.record({ path: fileName, name: fileName, modified: fc.boolean() }, { requiredKeys: [] }),
  bad: [
    [5],
    [[]],
    [{ path: 5 }, '/document/path'],
    [{ name: long(4096) }, '/document/name'],
    [{ modified: 'no' }, '/document/modified'],
  ],
  taken: 'document',
}
const documentForm: MemberForm = {
  ...greetingDocument,
  bad: [...greetingDocument.bad, [{ Path: '/x' }, '/document/Path']],
}
const batch = (member: string, item: object, wrong: string): MemberForm => ({
  good: fc.array(fc.constant(item), { maxLength: maxHostBatch }),
  bad: [
    [5],
    [{}],
    [Array.from({ length: maxHostBatch + 1 }, () => item)],
    [[item, 5], `/${member}/1`],
    [[item, {}], `/${member}/1/${wrong}`],
    [[item, { ...item, x: 1 }], `/${member}/1/x`],
  ],
  required: true,
  taken: member,
})

const greetingPictures: MemberForm = {
  good: fc.record({ targets: fc.subarray(['window', 'viewport']), denied: fc.boolean() }),
  bad: [
    [5],
    [[]],
    [{ targets: 'window' }, '/capture/targets'],
    [{ targets: Array(17).fill('window') }, '/capture/targets'],
    [{ denied: 'no' }, '/capture/denied'],
  ],
  taken: 'capture',
}
const picturesForm: MemberForm = {
  ...greetingPictures,
  bad: [...greetingPictures.bad, [{ target: [] }, '/capture/target']],
}

/** Every message but hello, heartbeat and scene.set: these leave nothing unknown unsaid. */
const strictForms: Readonly<Record<string, MessageForm>> = {
  'app.update': { document: documentForm, mode, capture: picturesForm },
  'audit.record': { records: batch('records', { action: 'file.save' }, 'action') },
  'events.open': {
    session_id: sessionId,
    maxlen: wholeNumber('maxlen', 1, 10_000),
    max_message_bytes: wholeNumber('maxMessageBytes', 1, 65_536),
  },
  'events.append': {
    session_id: sessionId,
    events: {
      ...batch('events', { source: 's', stream: 'stdout', message: '', level: 'info' }, 'source'),
      bad: [
        [5],
        [{}],
        [[{ source: 's', stream: 'o', message: 5 }], '/events/0/message'],
        [[{ source: 's', stream: 'o', message: '', level: 'loud' }], '/events/0/level'],
        [
          [{ source: 's', stream: 'o', message: '', metadata: long(maxEventMetadataBytes) }],
          '/events/0/metadata',
        ],
        [[{ source: 's', stream: 'o', message: '', session_id: '/' }], '/events/0/session_id'],
      ],
    },
  },
  'events.close': { session_id: sessionId },
  'producer.register': {
    scheme: required(nameForm('scheme')),
    resources: anyValue('resources'),
    templates: anyValue('templates'),
  },
  'producer.unregister': { scheme: required(nameForm('scheme')) },
  'producer.list_changed': {
    scheme: required(nameForm('scheme')),
    resources: anyValue('resources'),
  },
  'resource.updated': { uri: required(nameForm('uri', maxUriChars)) },
  'artefact.put': {
    id: required(nameForm('id', 64)),
    mime: {
      good: fc.constantFrom('image/png', 'text/plain; charset=utf-8', 'a/b+c'),
      bad: [...wrongTypes, ['png'], ['a/b\r\nX: y'], ['multipart/form-data']],
      required: true,
      taken: 'options.mime',
    },
    size: { ...wholeNumber('sizeBytes', 0, Number.MAX_SAFE_INTEGER), required: true },
    sha256: {
      good: fc.stringMatching(/^[0-9a-f]{64}$/),
      bad: [...wrongTypes, ['0'.repeat(63)], ['A'.repeat(64)]],
      taken: 'sha256',
    },
    display_name: nameForm('options.displayName'),
    session_id: nameForm('options.sessionId'),
    tool_call_id: nameForm('options.toolCallId'),
    job_id: nameForm('options.jobId'),
    correlation_id: nameForm('options.correlationId'),
    expires_at: {
      good: fc.constantFrom('2999-01-01T00:00:00.000Z'),
      bad: [...wrongTypes, ['tomorrow'], ['1999-01-01T00:00:00Z']],
      taken: 'options.expiresAt',
    },
    metadata: anyValue('options.metadata'),
  },
  'artefact.abort': { upload: required(nameForm('upload', 64)) },
  bye: {
    reason: nameForm('reason'),
    clear: { good: fc.boolean(), bad: [[5], ['true']], taken: 'clear' },
  },
}

const app = { dcc_type: 'blender', mode: 'gui' }
const client = { name: 'c', version: '1' }
const inApp = (member: string, values: readonly unknown[]) =>
  values.map(value => [{ ...app, [member]: value }, `/app/${member}`] as const)

/** What a newer application may add members to. */
const tolerantForms: Readonly<Record<string, MessageForm>> = {
  hello: {
    protocol: {
      good: fc.array(fc.integer()),
      bad: [[1], [['1']], [[1.5]]],
      required: true,
      taken: 'protocol',
    },
    client: {
      good: fc.constantFrom(client, { ...client, more: 1 }),
      bad: [[5], [{ name: 'c' }, '/client/version'], [{ ...client, name: '' }, '/client/name']],
      required: true,
    },
    app: {
      good: fc.constantFrom(app, { ...app, pid: 1, version: '3', display_name: 'x', more: [] }),
      bad: [
        [5],
        [{ mode: 'gui' }, '/app/dcc_type'],
        [{ dcc_type: 'x' }, '/app/mode'],
        ...inApp('dcc_type', ['Blender', '-x', long(64), 5]),
        ...inApp('mode', ['GUI']),
        ...inApp('pid', [0, 1.5, '1', 2 ** 32 + 1]),
        ...inApp('version', ['', 5, long(maxFieldChars)]),
        ...inApp('display_name', ['a\nb', []]),
      ],
      required: true,
    },
    instance_id: required(nameForm('instanceId')),
    document: greetingDocument,
    capture: greetingPictures,
  },
  heartbeat: {
    main_idle_ms: {
      good: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
      bad: [['1'], [-1]],
      required: true,
      taken: 'mainIdleMs',
    },
    queue_depth: { good: fc.nat(), bad: [['1'], [-1]] },
    busy: nameForm('busy'),
  },
}

const nowMs = Date.parse('2026-01-01T00:00:00Z')
const parse = (text: string) => parseFrame(text, nowMs)
const numRuns = Number(process.env.FUZZ_CASES ?? 200)
const forms = { ...strictForms, ...tolerantForms }

/**
 * A message of the form, with all of its required members and some of the others, of which some are
 * null, which is absent; a `document` of null is none.
 */
function messageOf(type: string, form: MessageForm): fc.Arbitrary<Record<string, unknown>> {
  const members = Object.fromEntries(
    Object.entries(form).map(([name, { good, required }]) => [
      name,
      required || name === 'document' ? good : fc.option(good),
    ]),
  )
  const requiredKeys = Object.keys(form).filter(name => form[name]?.required)
  return fc.record(members, { requiredKeys }).map(rest => ({ type, ...rest }))
}

describe(`messages of the host link, ${numRuns} of each kind`, function () {
  this.timeout(60_000 + numRuns * 50)
  const runs = { numRuns }

  it('are one of five things, for any text', () => {
    const kinds = ['message', 'reply', 'refused', 'passed', 'broken']
    const others = ['scene.set', 'scene.patch', 'ok', 'error', 'toString', '__proto__']
    const words = [...Object.keys(forms), ...others]
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
            const value = sent[name] ?? undefined
            if (taken === undefined || value === undefined) continue
            expect(valueAt(frame.message, taken), name).to.deep.equal(value)
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
      fc.dictionary(fc.string({ unit: codePoint }), fc.jsonValue()).map(one => JSON.stringify(one)),
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

function valueAt(message: object, path: string): unknown {
  let value: unknown = message
  for (const name of path.split('.')) value = (value as Record<string, unknown>)[name]
  return value
}
