import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { checkFacts, checkRegularly } from '../../../src/server/artefacts/database/regular-check.ts'
import { ManualTime } from '../resources/manual-time.ts'

describe('checkRegularly', () => {
  const ok = { state: 'connected' }
  let time: ManualTime
  let made: PromiseWithResolvers<void>[]
  let ask: () => Promise<object>
  beforeEach(() => {
    time = new ManualTime()
    made = []
    const begin = () => {
      made.push(Promise.withResolvers<void>())
      return made.at(-1)!.promise
    }
    const check = checkRegularly(begin, { clock: time, timer: time })
    ask = () => checkFacts(check())
  })

  it('checks once for all callers of two seconds', async () => {
    const first = [ask(), ask()]
    made[0]?.resolve()
    expect(await Promise.all(first)).to.deep.equal([ok, ok])
    time.advance(1999)
    expect(await ask()).to.deep.equal(ok)
    expect(made).to.have.length(1)
    time.advance(1)
    const second = ask()
    const data = { reason: 'x' }
    made[1]?.reject(new ServiceError('storage_failed', 'at db.example: x', { data }))
    expect(await second).to.deep.equal({ state: 'away', reason: 'x' })
    expect(made).to.have.length(2)
  })

  it('fails after a second, and checks again only when the check has ended', async () => {
    const late = { state: 'away', reason: 'no answer in time' }
    const first = ask()
    time.advance(1000)
    expect(await first).to.deep.equal(late)
    time.advance(600_000)
    expect(await ask()).to.deep.equal(late)
    expect(made).to.have.length(1)
    made[0]?.resolve()
    await made[0]?.promise
    // The end of the check is known in a later task.
    await new Promise(setImmediate)
    const second = ask()
    made[1]?.resolve()
    expect(await second).to.deep.equal(ok)
  })

  it('shows nothing of an error that is not for anyone', async () => {
    const outcome = ask()
    made[0]?.reject(new Error('password of db.example'))
    expect(JSON.stringify(await outcome))
      .to.contain('failed')
      .and.not.contain('db.example')
  })
})
