import { expect } from 'chai'
import { controllerWith, onAbort } from '../../../src/lib/util/abort.ts'

describe('onAbort', () => {
  it('calls once when the signal is aborted, at once when it is already, and not after the cancel', () => {
    const source = new AbortController()
    const calls: string[] = []
    onAbort(source.signal, () => calls.push('early'))
    const cancel = onAbort(source.signal, () => calls.push('cancelled'))
    cancel()
    expect(calls).to.deep.equal([])
    source.abort(new Error('why'))
    onAbort(source.signal, () => calls.push('late'))
    expect(calls).to.deep.equal(['early', 'late'])
    expect(controllerWith(source.signal).signal.reason).to.equal(source.signal.reason)
    onAbort(undefined, () => calls.push('none'))()
    expect(calls).to.have.length(2)
  })
})
