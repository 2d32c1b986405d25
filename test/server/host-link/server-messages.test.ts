import { expect } from 'chai'
import fc from 'fast-check'
import { parseServerMessage } from '../../../src/lib/host-link/server-messages.ts'
import { welcome } from './scripted-server.ts'

const parse = (value: unknown) =>
  parseServerMessage(typeof value === 'string' ? value : JSON.stringify(value))
const read = { type: 'read', id: 's1', uri: 'a://b', deadline_ms: 5000 }
const limits = (more: object) => ({ ...welcome, limits: { ...welcome.limits, ...more } })

describe('parseServerMessage', () => {
  const taken: object[] = [
    welcome,
    limits({ max_artefact_bytes: null }),
    { ...welcome, newer: 1 },
    limits({ newer: 1 }),
    read,
    { type: 'list', id: 's1', scheme: 'a', deadline_ms: 0 },
    { type: 'cancel', id: 's1' },
    { type: 'throttle', scene_min_interval_ms: 250 },
    { type: 'throttle', id: 't1', scene_min_interval_ms: 0 },
    { type: 'shutdown', reason: 'the server stops' },
    { type: 'shutdown', reason: '', reconnect_after_ms: 1000 },
  ]
  for (const message of taken) {
    it(`takes ${JSON.stringify(message).slice(0, 70)}`, () => {
      expect(parse(message)).to.deep.equal({ ok: true, value: message })
    })
  }

  it('takes answers, whatever they hold', () => {
    const body = { type: 'ok', id: 'c1', revision: 7 }
    expect(parse(body)).to.deep.equal({ ok: true, value: { type: 'ok', id: 'c1', body } })
    const error = { type: 'error', code: 'from_the_future', message: 'm', retryable: true }
    expect(parse(error)).to.deep.equal({
      ok: true,
      value: { ...error, id: undefined, code: 'internal' },
    })
  })

  it('counts a member that is null as absent', () => {
    const { ok, value } = parse({ type: 'shutdown', reason: '', reconnect_after_ms: null }) as any
    expect([ok, value]).to.deep.equal([true, { type: 'shutdown', reason: '' }])
    expect(parse({ ...read, extra: null }).ok).to.equal(true)
  })

  const refused: [value: unknown, kind: string, message?: string][] = [
    ['', 'broken', 'not JSON'],
    ['{"type":', 'broken', 'not JSON'],
    ['[]', 'broken', 'not a JSON object'],
    ['null', 'broken', 'not a JSON object'],
    ['{}', 'broken', 'missing type'],
    ['{"type":7}', 'broken', 'missing type'],
    [`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'broken', 'deeper than 64 levels'],
    [{ type: 'newer' }, 'unknown'],
    [{ type: 'toString' }, 'unknown'],
    [{ type: '__proto__' }, 'unknown'],
    [{ ...read, id: undefined }, 'invalid', '/id is missing'],
    [{ ...read, id: 'x'.repeat(65) }, 'invalid', '/id must be a string of 1 to 64 characters'],
    [{ ...read, uri: 7 }, 'invalid', '/uri must be a string of up to 4096 characters'],
    [{ ...read, deadline_ms: 1.5 }, 'invalid', '/deadline_ms must be a whole number from 0'],
    [{ ...read, dead_line: 1 }, 'invalid', '/dead_line is not a member'],
    [{ type: 'ok' }, 'invalid', '/id is missing'],
    [{ ...welcome, need_scene: 1 }, 'invalid', '/need_scene must be true or false'],
    [limits({ max_batch: 0 }), 'invalid', '/limits/max_batch must be a whole number from 1'],
    [{ ...welcome, limits: 7 }, 'invalid', '/limits must be an object'],
    [{ ...welcome, heartbeat_ms: 0 }, 'invalid', '/heartbeat_ms must be a whole number from 100'],
  ]
  for (const [value, kind, message] of refused) {
    it(`refuses ${(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 80)}`, () => {
      const parsed = parse(value)
      const failure = parsed.ok ? null : parsed.failure
      expect(failure?.kind).to.equal(kind)
      if (message !== undefined) expect((failure as any).message.startsWith(message)).to.equal(true)
    })
  }

  it('never throws, and what it takes has its members', () => {
    const types = ['welcome', 'read', 'list', 'cancel', 'throttle', 'shutdown', 'ok', 'error', 'x']
    const names = ['id', 'uri', 'deadline_ms', 'scheme', 'reason', 'scene_min_interval_ms']
    const value = fc.oneof(fc.string(), fc.integer(), fc.jsonValue(), fc.constant(null))
    const message = fc
      .tuple(fc.constantFrom(...types), fc.dictionary(fc.constantFrom(...names, 'z'), value))
      .map(([type, members]) => JSON.stringify({ ...members, type }))
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), message), text => {
        const parsed = parseServerMessage(text)
        if (!parsed.ok) return
        const { type, id } = parsed.value as { type: string; id?: string }
        expect(types).to.include(type)
        if (['read', 'list', 'cancel', 'ok'].includes(type)) expect(id).to.match(/^[^]{1,64}$/)
      }),
      { numRuns: 500 },
    )
  })

  it('takes exactly the reads whose members have their form', () => {
    const id = fc.oneof(fc.string({ maxLength: 70 }), fc.integer(), fc.constant(undefined))
    const ms = fc.oneof(fc.integer({ min: -5, max: 90_000_000 }), fc.double(), fc.constant('5'))
    const extra = fc.option(fc.constantFrom('deadline', 'uri2'), { nil: undefined })
    fc.assert(
      fc.property(id, fc.oneof(fc.string(), fc.boolean()), ms, extra, (id, uri, deadline, name) => {
        const more = name === undefined ? {} : { [name]: 1 }
        const right =
          typeof id === 'string' &&
          id.length >= 1 &&
          id.length <= 64 &&
          typeof uri === 'string' &&
          Number.isInteger(deadline) &&
          Number(deadline) >= 0 &&
          Number(deadline) <= 86_400_000 &&
          name === undefined
        const parsed = parse({ type: 'read', id, uri, deadline_ms: deadline, ...more })
        expect(parsed.ok).to.equal(right)
      }),
      { numRuns: 500 },
    )
  })
})
