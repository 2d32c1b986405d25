import { expect } from 'chai'
import { parseAuditPost, parseEventsPost } from '../../../src/server/host/messages.ts'
import { defaultLimits } from '../../../src/lib/config/limits.ts'

const long = 'x'.repeat(defaultLimits.maxFieldChars + 1)
const wrongText = [1, true, [], {}, '', 'two\nlines']

function cases(member: string, values: unknown[], pointer = `/${member}`): [object, string][] {
  return values.map(value => [{ [member]: value }, pointer])
}

describe('parseAuditPost', () => {
  const refused: [object, string][] = [
    ...cases('action', [...wrongText, long, null]),
    ...cases('actor', [...wrongText, long]),
    ...cases('session_id', [...wrongText, long]),
    ...cases('duration_ms', ['5', true, [], {}, -1]),
    ...cases('timestamp', [5, true, [], {}, '', 'now', '2026-02-30T00:00:00Z']),
    ...cases('outcome', [1, true, [], {}, '', 'failed', ['denied']]),
    ...cases('outcome', [{ denied: {}, error: {} }, { refused: {} }]),
    ...cases('outcome', [{ denied: 'no' }, { denied: null }], '/outcome/denied'),
    ...cases('outcome', [{ denied: {} }, { denied: { reason: 5 } }], '/outcome/denied/reason'),
    ...cases('outcome', [{ denied: { reason: 'a', x: 1 } }], '/outcome/denied/x'),
    ...cases('outcome', [{ error: { message: [] } }], '/outcome/error/message'),
    ...cases('durationMs', [5]),
    ...cases('a/b~', [5], '/a~1b~0'),
    [JSON.parse('{"__proto__":{"action":"x"}}'), '/__proto__'],
  ]
  for (const [change, pointer] of refused) {
    it(`refuses ${JSON.stringify(change).slice(0, 60)}`, () => {
      const record = Object.defineProperties(
        { action: 'save' },
        Object.getOwnPropertyDescriptors(change),
      )
      const parsed = parseAuditPost({ records: [record] }, defaultLimits)
      expect(parsed.ok ? 'taken' : parsed.failure.pointer).to.equal(`/records/0${pointer}`)
    })
  }

  for (const [body, pointer] of [
    [null, ''],
    [[], ''],
    ['x', ''],
    [{}, '/records'],
    [{ records: {} }, '/records'],
    [{ records: null }, '/records'],
    [{ records: [null] }, '/records/0'],
    [{ records: [[]] }, '/records/0'],
    [{ records: [{}] }, '/records/0/action'],
    [{ records: [], event: 1 }, '/event'],
  ] as const) {
    it(`refuses the body ${JSON.stringify(body)}`, () => {
      const parsed = parseAuditPost(body, defaultLimits)
      expect(parsed.ok ? 'taken' : parsed.failure.pointer).to.equal(pointer)
    })
  }

  for (const outcome of [
    'success',
    'timeout',
    { denied: { reason: 'r' } },
    { error: { message: 'm' } },
  ]) {
    it(`takes the outcome ${JSON.stringify(outcome)}`, () => {
      const parsed = parseAuditPost({ records: [{ action: 'a', outcome }] }, defaultLimits)
      expect(parsed).to.deep.equal({ ok: true, value: [{ action: 'a', outcome }] })
    })
  }
})

describe('parseEventsPost', () => {
  const event = { source: 'a', stream: 'b', message: 'c' }
  const refused: [object, string][] = [
    ...cases('source', [...wrongText, long, null]),
    ...cases('stream', [...wrongText, long, null]),
    ...cases('message', [1, true, [], {}, null]),
    ...cases('level', [1, [], {}, '', 'INFO', 'fatal', '__proto__']),
    ...cases('tool_call_id', [...wrongText, long]),
    ...cases('job_id', [...wrongText, long]),
    ...cases('correlation_id', [...wrongText, long]),
    ...cases('session_id', [1, 'another']),
    ...cases('metadata', ['x'.repeat(defaultLimits.maxEventMetadataBytes)]),
    ...cases('toolCallId', ['t']),
  ]
  for (const [change, pointer] of refused) {
    it(`refuses ${JSON.stringify(change).slice(0, 60)}`, () => {
      const body = { events: [event, { ...event, ...change }] }
      const parsed = parseEventsPost(body, 's', defaultLimits)
      expect(parsed.ok ? 'taken' : parsed.failure.pointer).to.equal(`/events/1${pointer}`)
    })
  }

  for (const [level, kept] of [
    [undefined, 'info'],
    [null, 'info'],
    ['trace', 'trace'],
    ['debug', 'debug'],
    ['warn', 'warning'],
    ['warning', 'warning'],
    ['error', 'error'],
  ]) {
    it(`reads the level ${level} as ${kept}`, () => {
      const parsed = parseEventsPost({ events: [{ ...event, level }] }, 's', defaultLimits)
      expect(parsed).to.deep.equal({ ok: true, value: [{ ...event, level: kept }] })
    })
  }
})
