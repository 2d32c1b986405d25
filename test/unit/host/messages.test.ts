import { expect } from 'chai'
import { parseAuditPost, parseEventsPost } from '../../../src/server/host/messages.ts'

const long = 'x'.repeat(255 + 1)
const wrongText = [1, true, [], {}, '', 'two\nlines', long]

/** Members with wrong values, each with the pointer of what is wrong. */
function cases(member: string, values: unknown[], pointer = `/${member}`): [object, string][] {
  return values.map(value => [{ [member]: value }, pointer])
}

describe('parseAuditPost', () => {
  const refused: [object, string][] = [
    ...cases('action', [...wrongText, null]),
    ...cases('actor', wrongText),
    ...cases('duration_ms', ['5', {}, -1]),
    ...cases('timestamp', [5, '', 'now', '2026-02-30T00:00:00Z']),
    ...cases('outcome', [1, [], {}, 'failed', { denied: {}, error: {} }, { refused: {} }]),
    ...cases('outcome', [{ denied: 'no' }, { denied: null }], '/outcome/denied'),
    ...cases('outcome', [{ denied: {} }, { denied: { reason: 5 } }], '/outcome/denied/reason'),
    ...cases('outcome', [{ denied: { reason: 'a', x: 1 } }], '/outcome/denied/x'),
    ...cases('outcome', [{ error: { message: [] } }], '/outcome/error/message'),
    ...cases('a/b~', [5], '/a~1b~0'),
    [JSON.parse('{"__proto__":{"action":"x"}}'), '/__proto__'],
  ]
  it('names the member of a record that is wrong', () => {
    for (const [change, pointer] of refused) {
      const record = Object.defineProperties(
        { action: 'save' },
        Object.getOwnPropertyDescriptors(change),
      )
      const parsed = parseAuditPost({ records: [record] })
      const named = parsed.ok ? 'taken' : parsed.failure.pointer
      expect(named, JSON.stringify(change)).to.equal(`/records/0${pointer}`)
    }
  })

  it('takes every outcome', () => {
    const failures = [{ denied: { reason: 'r' } }, { error: { message: 'm' } }]
    for (const outcome of ['success', 'timeout', ...failures]) {
      const parsed = parseAuditPost({ records: [{ action: 'a', outcome }] })
      expect(parsed).to.deep.equal({ ok: true, value: [{ action: 'a', outcome }] })
    }
  })
})

describe('parseEventsPost', () => {
  const event = { source: 'a', stream: 'b', message: 'c' }
  const refused: [object, string][] = [
    ...cases('source', [...wrongText, null]),
    ...cases('stream', [5, null]),
    ...cases('message', [1, {}, null]),
    ...cases('level', [1, '', 'INFO', 'fatal', '__proto__']),
    ...cases('job_id', [5, long]),
    ...cases('session_id', [1, 'another']),
    ...cases('metadata', ['x'.repeat(4096)]),
    ...cases('toolCallId', ['t']),
  ]
  it('names the member of an event that is wrong', () => {
    for (const [change, pointer] of refused) {
      const parsed = parseEventsPost({ events: [event, { ...event, ...change }] }, 's')
      const named = parsed.ok ? 'taken' : parsed.failure.pointer
      expect(named, JSON.stringify(change)).to.equal(`/events/1${pointer}`)
    }
  })

  it('reads the level, which is info when absent', () => {
    const levels: [level: unknown, kept: string][] = [
      [undefined, 'info'],
      [null, 'info'],
      ['trace', 'trace'],
      ['warn', 'warning'],
      ['error', 'error'],
    ]
    for (const [level, kept] of levels) {
      const parsed = parseEventsPost({ events: [{ ...event, level }] }, 's')
      expect(parsed).to.deep.equal({ ok: true, value: [{ ...event, level: kept }] })
    }
  })
})
