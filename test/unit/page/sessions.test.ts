import { expect } from 'chai'
import { PageSessions } from '../../../src/server/page/sessions.ts'
import { settableClock } from '../../helpers/fakes.ts'

const minute = 60_000
const hour = 60 * minute
const byLink = { mayWrite: true, keyHolder: null }

describe('logins of the page', () => {
  let clock: ReturnType<typeof settableClock>
  let sessions: PageSessions
  beforeEach(() => {
    clock = settableClock()
    sessions = new PageSessions(clock)
  })

  it('take a code once, until five minutes have passed', () => {
    const [first, second] = [sessions.createCode(), sessions.createCode()]
    clock.advance(5 * minute - 1)
    expect(sessions.redeem(first)).to.equal(true)
    expect(sessions.redeem(first)).to.equal(false)
    clock.advance(1)
    expect(sessions.redeem(second)).to.equal(false)
  })

  it('end after twelve hours', () => {
    const { cookie, seconds } = sessions.open(byLink)
    expect(seconds).to.equal(12 * 3600)
    clock.advance(12 * hour - 1)
    let ended = 0
    sessions.watch(sessions.find(cookie)!, () => ended++)
    clock.advance(1)
    expect(sessions.find(cookie)).to.equal(null)
    expect(ended).to.equal(1)
  })

  it('end with the key that they were opened with, and not after it', () => {
    const expiresAtMs = clock.now() + hour
    let revoke = () => {}
    const watch = (ended: () => void) => {
      revoke = ended
      return () => {}
    }
    const mortal = sessions.open({ mayWrite: false, keyHolder: 'key:anna', expiresAtMs, watch })
    const other = sessions.open({ mayWrite: false, keyHolder: 'key:ben' })
    const linked = sessions.open(byLink)
    expect(mortal.seconds).to.equal(3600)
    revoke()
    expect(sessions.find(mortal.cookie)).to.equal(null)
    for (const { cookie } of [other, linked]) expect(sessions.find(cookie)).not.to.equal(null)
  })

  it('are the newest hundred of a key and of all links', () => {
    const byKey = { mayWrite: false, keyHolder: 'key:reader' }
    const linked = sessions.open(byLink)
    const cookies = Array.from({ length: 101 }, () => sessions.open(byKey).cookie)
    expect(cookies.findIndex(cookie => sessions.find(cookie) !== null)).to.equal(1)
    expect(sessions.find(linked.cookie)).not.to.equal(null)
  })
})
