import { expect } from 'chai'
import { Readable } from 'node:stream'
import { systemClock } from '../../../src/lib/util/time.ts'
import type { LinkClient } from '../../../src/server/gateway/join/link-client.ts'
import { ChangeEmitter } from '../../../src/server/gateway/change-emitter.ts'
import { JoinedDirectory } from '../../../src/server/gateway/join/joined-directory.ts'
import { recordLines } from '../../../src/server/gateway/join/record-lines.ts'
import { entry } from '../../helpers/memory-directory.ts'
import { ManualTime } from '../resources/manual-time.ts'
import { defaultBounds } from '../../helpers/bounds.ts'

describe('JoinedDirectory', () => {
  const principal = { accountId: 'account', owner: 'ada', team: null, name: 'ws' }
  // It is sent no request.
  const client = {} as LinkClient
  let all: ChangeEmitter
  let directory: JoinedDirectory
  beforeEach(() => {
    const parts = { limits: defaultBounds, clock: systemClock, timer: new ManualTime() }
    all = new ChangeEmitter()
    directory = new JoinedDirectory({ ...parts, directory: all })
  })
  afterEach(() => directory.close())

  const known = entry()
  const told = (scene: string) => ({ principal, record: { ...known.record, scene } })
  const join = (replaced = () => {}) => {
    const admitted = directory.admit({ told: told('a'), client, replaced })
    if (!admitted.ok) throw new Error(admitted.failure)
    return admitted.value
  }
  const healths = () => all.entries.map(({ verdict }) => verdict.health)

  it('keeps an instance stale whose record is read after the loss of its link', () => {
    const membership = join()
    membership.lose('the connection was cut')
    membership.change(told('b'))
    expect(healths()).to.deep.equal(['stale'])
  })

  it('takes nothing from a link that a newer one has replaced', () => {
    let replaced = 0
    const first = join(() => void replaced++)
    join()
    first.change(told('b'))
    first.lose('the connection was cut')
    first.end('it stopped')
    expect([replaced, healths(), all.entries[0]?.record.scene]).to.deep.equal([1, ['live'], 'a'])
  })
})

describe('the lines of a record', () => {
  it('are whole however they are cut', async () => {
    const bytes = Buffer.from(`a\n\n${'b'.repeat(3000)}\nnever ended`)
    for (const size of [1, 1023, 1025, bytes.length]) {
      const count = Math.ceil(bytes.length / size)
      const chunks = Array.from({ length: count }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      )
      const lines = await Array.fromAsync(recordLines(Readable.from(chunks), 3000), String)
      expect(lines, `chunks of ${size} bytes`).to.deep.equal(['a', '', 'b'.repeat(3000)])
    }
  })
})
