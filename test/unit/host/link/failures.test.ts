import { expect } from 'chai'
import { type ErrorCode, ServiceError } from '../../../../src/lib/util/errors.ts'
import { refusalOf } from '../../../../src/server/host/link/failures.ts'

describe('refusalOf', () => {
  const full = 'limit: the server has no room left to store this'
  const cases: [type: string, code: ErrorCode, answer: string | null][] = [
    ['note', 'note_state', 'invalid: /secret'],
    ['note', 'resource_not_found', 'not_found: /secret'],
    ['checkpoint', 'storage_full', full],
    ['artefact.put', 'storage_full', full],
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
