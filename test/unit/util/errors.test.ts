import { expect } from 'chai'
import { connectionReason } from '../../../src/lib/util/connection-reason.ts'
import {
  isDiskFull,
  messageOf,
  publicMessage,
  readProblem,
  ServiceError,
} from '../../../src/lib/util/errors.ts'

const systemError = (code: string) => Object.assign(new Error(`${code}: open`), { code, errno: -1 })

describe('what is told of an error', () => {
  it('to clients of a server names nothing of its machine', () => {
    const told = (code: ConstructorParameters<typeof ServiceError>[0]) =>
      publicMessage(new ServiceError(code, '/home/ada is full'))
    expect(told('storage_full')).to.equal('the server has no room left to store this')
    expect(told('storage_unavailable')).to.include('cannot reach its storage')
    expect(told('config_invalid')).to.include('its log has the reason')
    expect(told('usage_invalid')).to.equal('/home/ada is full')
  })

  it('of a file is a reason in words', () => {
    expect(readProblem(systemError('EACCES'))).to.equal('permission denied')
    expect(readProblem(systemError('EMFILE'))).to.equal('too many open files')
    expect(readProblem('thrown text')).to.equal('unknown error')
    expect(messageOf('thrown text')).to.equal('thrown text')
    expect([isDiskFull(systemError('ENOSPC')), isDiskFull(null)]).to.deep.equal([true, false])
  })

  it('of a connection is a clause with the code, TLS errors of the system among them', () => {
    expect(connectionReason('ENETUNREACH')).to.equal('network is unreachable (ENETUNREACH)')
    expect(connectionReason('EPROTO')).to.equal('TLS failed (EPROTO)')
    expect(connectionReason('ENEW')).to.equal('ENEW')
  })
})
