import { expect } from 'chai'
import { onAbort } from '../../../src/lib/util/abort.ts'

describe('onAbort', () => {
  const counted = (signal: AbortSignal | undefined) => {
    let count = 0
    const cancel = onAbort(signal, () => count++)
    return { cancel, count: () => count }
  }

  it('calls once when the signal is aborted, and at once when it is already', () => {
    const { signal, abort } = withAbort()
    const before = counted(signal)
    expect(before.count()).to.equal(0)
    abort()
    expect(before.count()).to.equal(1)
    expect(counted(signal).count()).to.equal(1)
  })

  it('does not call after the cancel, nor without a signal', () => {
    const { signal, abort } = withAbort()
    const listening = counted(signal)
    listening.cancel()
    abort()
    expect(listening.count()).to.equal(0)
    const none = counted(undefined)
    none.cancel()
    expect(none.count()).to.equal(0)
  })
})

function withAbort() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
