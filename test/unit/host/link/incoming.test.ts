import { expect } from 'chai'
import { type IncomingFrame, parseFrame } from '../../../../src/server/host/link/incoming.ts'

const parse = (text: string): IncomingFrame => parseFrame(text, 0)
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

/** What the frame is, and what is said of it. */
function outcome(text: string): string {
  const frame = parse(text)
  switch (frame.kind) {
    case 'broken':
      return `broken: ${frame.reason}`
    case 'refused':
      return `${frame.code} ${frame.id ?? '-'}: ${frame.message}`
    case 'reply':
      return `reply ${frame.reply.id}`
    case 'message':
      return `${frame.message.type} ${frame.id ?? '-'}`
    case 'passed':
      return 'passed'
  }
}

describe('parseFrame', () => {
  const notJson = 'broken: a message is not JSON: '
  const noObject = 'broken: a message is not a JSON object'
  const noType = 'broken: a message has no type'
  const tooDeep = 'broken: a message nests deeper than 64 levels'
  const longId = '/id must not be longer than 64 characters'
  const cases: [text: string, outcome: string][] = [
    ['', `${notJson}unexpected end (line 1, column 1)`],
    ['\ufeff{"type":"bye"}', `${notJson}invalid symbol (line 1, column 1)`],
    ['{"type":"bye",}', `${notJson}trailing comma (line 1, column 15)`],
    ['[]', noObject],
    ['{}', noType],
    ['{"type":["bye"]}', noType],
    ['{"__proto__":{"type":"bye"}}', noType],
    ['{"type":"ok","type":"bye"}', 'bye -'],
    ['{"type":"bye","type":5}', noType],
    ['{"type":"bye","id":null}', 'bye -'],
    ['{"type":"bye","id":5}', 'invalid -: /id must be a string'],
    ['{"type":"bye","id":"\\n"}', 'invalid -: /id must not have control characters'],
    [`{"type":"bye","id":"${'i'.repeat(65)}"}`, `invalid -: ${longId}`],
    ['{"type":"bye","id":"\\ud800"}', 'bye \ufffd'],
    ['{"type":"bye","a/b~":1,"id":"7"}', 'invalid 7: /a~1b~0 is not known here'],
    ['{"type":"new","id":"7"}', 'unknown_type 7: there is no message "new"'],
    ['{"type":"new","x":{}}', 'passed'],
    ['{"type":"__proto__","id":"7"}', 'unknown_type 7: there is no message "__proto__"'],
    [
      `{"type":"${'t'.repeat(900)}","id":"7"}`,
      `unknown_type 7: there is no message "${'t'.repeat(64)}"`,
    ],
    ['{"type":"ok"}', 'passed'],
    ['{"type":"ok","id":"s1","__proto__":{},"more":1}', 'reply s1'],
    ['{"type":"scene.set"}', 'invalid -: /scene is required'],
    ['{"type":"scene.set","scene":1,"Scene":2}', 'invalid -: /Scene is not known here'],
    ['{"type":"heartbeat","main_idle_ms":1e999}', 'invalid -: /main_idle_ms must be a number'],
    ['{"type":"artefact.put","mime":"a/b","size":1}', 'invalid -: /id is required'],
    [
      '{"type":"artefact.put","id":"1","mime":"a/b","size":9007199254740992}',
      'invalid 1: /size must be a whole number from 0 to 9007199254740991',
    ],
    [`{"type":"scene.set","scene":${nested(64)}}`, 'scene.set -'],
    [`{"type":"scene.set","scene":${nested(65)}}`, tooDeep],
    [nested(1_000_000), tooDeep],
    [`{"type":"bye","reason":"${'['.repeat(100)}"}`, 'bye -'],
  ]
  for (const [text, expected] of cases) {
    it(`finds ${expected.slice(0, 60)} in ${text.slice(0, 60)}`, () =>
      expect(outcome(text).slice(0, expected.length)).to.equal(expected))
  }

  it('takes the last of two scenes, as it was written', () => {
    const frame = parse('{"scene":{"a":1},"type":"scene.set","sc\\u0065ne": {"b":1.0 } }')
    expect(frame.kind === 'message' && frame.message).to.deep.equal({
      type: 'scene.set',
      text: '{"b":1.0 }',
    })
  })

  const documents: [members: string, document: unknown][] = [
    ['', undefined],
    [',"document":null', null],
    [',"document":{}', {}],
    [',"document":{"path":null,"modified":false}', { modified: false }],
    [',"document":{"path":"","name":"a\\nb"}', { name: 'a\nb' }],
  ]
  it('keeps apart what app.update says of the document', () => {
    for (const [members, document] of documents) {
      const frame = parse(`{"type":"app.update"${members}}`)
      const message = { type: 'app.update', capture: undefined, document, mode: undefined }
      expect(frame.kind === 'message' && frame.message, members).to.deep.equal(message)
    }
  })

  it('takes an error without a code or a text for one', () => {
    const replies: [members: string, reply: object][] = [
      ['"code":"busy","message":"a render"', { code: 'busy', message: 'a render' }],
      ['"message":5', { code: 'internal', message: '' }],
    ]
    for (const [members, reply] of replies) {
      const frame = parse(`{"type":"error","id":"s1",${members}}`)
      expect(frame).to.deep.equal({ kind: 'reply', reply: { type: 'error', id: 's1', ...reply } })
    }
  })
})
