import { expect } from 'chai'
import { isWorthTelling, sceneIntervalMs } from '../../../../src/server/host/link/scene-slot.ts'
import {
  isRetryable,
  type LinkRefusal,
  refusalOf,
} from '../../../../src/server/host/link/failures.ts'
import { type ErrorCode, ServiceError } from '../../../../src/lib/util/errors.ts'

describe('sceneIntervalMs', () => {
  const cases: [costMs: number, intervalMs: number][] = [
    [0, 0],
    [0.5, 0],
    [0.9, 0],
    [1, 10],
    [2.31, 24],
    [50, 500],
    [100, 1000],
    [101, 1000],
    [1e9, 1000],
  ]
  for (const [costMs, intervalMs] of cases) {
    it(`asks for ${intervalMs} ms when a scene costs ${costMs} ms`, () =>
      expect(sceneIntervalMs(costMs, 1000)).to.equal(intervalMs))
  }
})

describe('isWorthTelling', () => {
  const cases: [announcedMs: number, nowMs: number, worth: boolean][] = [
    [0, 0, false],
    [0, 10, true],
    [10, 0, true],
    [100, 100, false],
    [100, 199, false],
    [100, 200, true],
    [100, 51, false],
    [100, 50, true],
  ]
  for (const [announcedMs, nowMs, worth] of cases) {
    it(`is ${worth} from ${announcedMs} to ${nowMs}`, () =>
      expect(isWorthTelling(announcedMs, nowMs)).to.equal(worth))
  }
})

describe('isRetryable', () => {
  const cases: [code: LinkRefusal['code'], retryable: boolean][] = [
    ['invalid', false],
    ['unknown_type', false],
    ['not_found', false],
    ['scheme_taken', false],
    ['scheme_reserved', false],
    ['unsupported', false],
    ['limit', true],
    ['busy', true],
    ['mismatch', false],
    ['internal', true],
    ['host_taken', true],
  ]
  for (const [code, retryable] of cases) {
    it(`is ${retryable} for ${code}`, () => expect(isRetryable(code)).to.equal(retryable))
  }
})

describe('refusalOf', () => {
  const full = 'limit: the server has no room left to store this'
  const cases: [type: string, code: ErrorCode, answer: string | null][] = [
    ['note', 'note_state', 'invalid: /secret'],
    ['note', 'resource_not_found', 'not_found: /secret'],
    ['note', 'storage_full', full],
    ['checkpoint', 'storage_full', full],
    ['artefact.put', 'storage_full', full],
    ['note', 'storage_failed', null],
    ['checkpoint', 'storage_unavailable', null],
    ['scene.patch', 'scene_stale', 'stale: /secret'],
  ]
  for (const [type, code, answer] of cases) {
    it(`answers ${answer} to ${type} that failed with ${code}`, () => {
      const refusal = refusalOf(type, new ServiceError(code, '/secret'))
      expect(refusal && `${refusal.code}: ${refusal.message}`).to.equal(answer)
    })
  }
})
