import fc from 'fast-check'
import { defaultLimits } from '../../../../src/lib/config/limits.ts'
import { codePoint } from '../../../helpers/code-point.ts'

/** One member of a message: what it may be, what it must not be, and where it ends up. */
export interface MemberForm {
  readonly good: fc.Arbitrary<unknown>
  /** A value, and the pointer of what is wrong in it when that is deeper. */
  readonly bad: readonly (readonly [value: unknown, pointer?: string])[]
  readonly required?: true
  /** Path in the parsed message; absent: the parser only checks it. */
  readonly taken?: string
}

export type MessageForm = Readonly<Record<string, MemberForm>>

const { maxFieldChars, maxUriChars, maxHostBatch, maxEventMetadataBytes } = defaultLimits
const lineChars = fc.string({ unit: 'grapheme' }).map(text => text.replaceAll(/[\0-\x1f\x7f]/g, ''))
const name = (most: number) => lineChars.map(text => `n${text}`.slice(0, most))
const wrongTypes = [[5], [true], [[]], [{}]] as const
const wrongNames = [...wrongTypes, [''], ['a\nb'], ['\u007f']] as const
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
  bad: [['1'], [true], [[1]], [least - 1], [most + 1], [least + 0.5]],
  taken,
})
const sessionId: MemberForm = {
  good: fc.stringMatching(/^[A-Za-z0-9_~:@+-][A-Za-z0-9._~:@+-]{0,127}$/),
  bad: [...wrongTypes, [''], ['a/b'], ['..'], ['%41'], ['é'], [long(128)]],
  required: true,
  taken: 'sessionId',
}
const mode: MemberForm = {
  good: fc.constantFrom('gui', 'background'),
  bad: [...wrongTypes, [''], ['GUI'], ['batch']],
  taken: 'mode',
}
/** A file name may hold any character. */
const fileName = fc.string({ unit: codePoint, minLength: 1, maxLength: 2000 })
const greetingDocument: MemberForm = {
  good: fc.record({ path: fileName, name: fileName, modified: fc.boolean() }, { requiredKeys: [] }),
  bad: [
    ...[5, 'x', true, []].map(value => [value] as const),
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
    ...[5, 'x', true, {}].map(value => [value] as const),
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
    ...[5, 'window', true, []].map(value => [value] as const),
    [{ targets: 'window' }, '/capture/targets'],
    [{ targets: [5] }, '/capture/targets'],
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
export const strictForms: Readonly<Record<string, MessageForm>> = {
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
      bad: [...wrongTypes, [''], ['png'], ['image/'], ['a/b\r\nX: y'], ['multipart/form-data']],
      required: true,
      taken: 'options.mime',
    },
    size: { ...wholeNumber('sizeBytes', 0, Number.MAX_SAFE_INTEGER), required: true },
    sha256: {
      good: fc.stringMatching(/^[0-9a-f]{64}$/),
      bad: [...wrongTypes, [''], ['0'.repeat(63)], ['0'.repeat(65)], ['A'.repeat(64)]],
      taken: 'sha256',
    },
    display_name: nameForm('options.displayName'),
    session_id: nameForm('options.sessionId'),
    tool_call_id: nameForm('options.toolCallId'),
    job_id: nameForm('options.jobId'),
    correlation_id: nameForm('options.correlationId'),
    expires_at: {
      good: fc.constantFrom('2999-01-01T00:00:00.000Z'),
      bad: [...wrongTypes, ['tomorrow'], ['2999-02-30T00:00:00Z'], ['1999-01-01T00:00:00Z']],
      taken: 'options.expiresAt',
    },
    metadata: anyValue('options.metadata'),
  },
  'artefact.abort': { upload: required(nameForm('upload', 64)) },
  bye: {
    reason: nameForm('reason'),
    clear: { good: fc.boolean(), bad: [[5], ['true'], [[]], [{}]], taken: 'clear' },
  },
}

const app = { dcc_type: 'blender', mode: 'gui' }
const client = { name: 'c', version: '1' }
const inApp = (member: string, values: readonly unknown[]) =>
  values.map(value => [{ ...app, [member]: value }, `/app/${member}`] as const)

/** What a newer application may add members to. */
export const tolerantForms: Readonly<Record<string, MessageForm>> = {
  hello: {
    protocol: {
      good: fc.array(fc.integer()),
      bad: [[1], ['1'], [{}], [['1']], [[1.5]], [[1, null]]],
      required: true,
      taken: 'protocol',
    },
    client: {
      good: fc.constantFrom(client, { ...client, more: 1 }),
      bad: [
        [5],
        [[]],
        ['x'],
        [{ name: 'c' }, '/client/version'],
        [{ ...client, name: '' }, '/client/name'],
      ],
      required: true,
    },
    app: {
      good: fc.constantFrom(app, { ...app, pid: 1, version: '3', display_name: 'x', more: [] }),
      bad: [
        [5],
        [[]],
        ['x'],
        [{ mode: 'gui' }, '/app/dcc_type'],
        [{ dcc_type: 'x' }, '/app/mode'],
        ...inApp('dcc_type', ['', 'Blender', 'a b', '-x', long(64), 5, null]),
        ...inApp('mode', ['GUI', 5]),
        ...inApp('pid', [0, -1, 1.5, '1', 2 ** 32 + 1]),
        ...inApp('version', ['', 5, long(maxFieldChars)]),
        ...inApp('display_name', ['', 'a\nb', []]),
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
      bad: [['1'], [true], [-1], [{}]],
      required: true,
      taken: 'mainIdleMs',
    },
    queue_depth: { good: fc.nat(), bad: [['1'], [-1], [1.5]] },
    busy: nameForm('busy'),
  },
}
