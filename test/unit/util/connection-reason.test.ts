import { expect } from 'chai'
import { connectionReason } from '../../../src/lib/util/connection-reason.ts'

describe('why a connection failed', () => {
  for (const [code, said] of [
    ['ECONNREFUSED', 'connection refused (ECONNREFUSED)'],
    ['HPE_INVALID_VERSION', 'its answer is not valid HTTP (HPE_INVALID_VERSION)'],
    ['CERT_HAS_EXPIRED', 'TLS failed (CERT_HAS_EXPIRED)'],
    ['ESOMETHING', 'ESOMETHING'],
  ] as const) {
    it(`is ${said}`, () => expect(connectionReason(code)).to.equal(said))
  }
})
