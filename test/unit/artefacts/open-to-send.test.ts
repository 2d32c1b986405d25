import { expect } from 'chai'
import { setImmediate } from 'node:timers/promises'
import { createOpenToSend } from '../../../src/server/artefacts/open-to-send.ts'
import type { OpenArtefact } from '../../../src/server/artefacts/store.ts'
import { failureOf } from '../../helpers/failure.ts'

/** As many as are sent at once. */
const most = 128
const hex = '0'.repeat(64)
const never = 3_600_000

async function open(asked: string): Promise<OpenArtefact | null> {
  if (asked !== hex) return null
  async function* piece() {
    yield new Uint8Array(1)
  }
  return {
    ref: {} as OpenArtefact['ref'],
    state: '',
    fill: async () => 0,
    range: piece,
    verified: piece,
    close: async () => {},
  }
}

describe('bodies sent to clients', () => {
  it('opens a bounded number, and the next one after a close', async () => {
    const send = createOpenToSend(open, { slowReaderMs: never, maxWaitMs: never })
    const bodies = await Promise.all(Array.from({ length: most }, () => send(hex, () => {})))
    const order: string[] = []
    const [first, second] = [1, 2].map(at =>
      send(hex, () => {}).finally(() => order.push(`opened ${at}`)),
    )
    await setImmediate()
    order.push('closing')
    // Closing twice frees one place.
    await Promise.all([bodies[0]?.close(), bodies[0]?.close()])
    await first
    await setImmediate()
    order.push('closing another')
    await bodies[1]?.close()
    await second
    expect(order).to.deep.equal(['closing', 'opened 1', 'closing another', 'opened 2'])
    await bodies[2]?.close()
    // A hash without a body holds no place.
    expect(await send('f'.repeat(64), () => {})).to.equal(null)
    expect(await send(hex, () => {})).not.to.equal(null)
  })

  it('cuts the slowest reader when others wait', async () => {
    const send = createOpenToSend(open, { slowReaderMs: 0, maxWaitMs: never })
    const cut: number[] = []
    const bodies: (OpenArtefact | null)[] = []
    for (let at = 0; at < most; at++) {
      const close = () => {
        cut.push(at)
        void bodies[at]?.close()
      }
      bodies.push(await send(hex, close))
    }
    // The first one takes its piece, so the second one is the slowest.
    for await (const _ of bodies[0]!.range(0, 1));
    await send(hex, () => {})
    expect(cut).to.deep.equal([1])
  })

  it('refuses a client that waited too long, and no later one', async () => {
    const send = createOpenToSend(open, { slowReaderMs: never, maxWaitMs: 20 })
    const bodies = await Promise.all(Array.from({ length: most }, () => send(hex, () => {})))
    expect((await failureOf(() => send(hex, () => {}))).code).to.equal('overloaded')
    await bodies[0]?.close()
    expect(await send(hex, () => {})).not.to.equal(null)
  })
})
