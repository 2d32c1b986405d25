import { expect } from 'chai'
import { PageSessions, UploadQuota } from '../../src/server/page/sessions.ts'
import { settableClock } from '../helpers/settable-clock.ts'

const minute = 60_000
const hour = 60 * minute
const byLink = { mayWrite: true, keyHolder: null }

describe('logins of the page', () => {
  let clock: ReturnType<typeof settableClock>
  let sessions: PageSessions
  let ended: string[]

  beforeEach(() => {
    clock = settableClock()
    sessions = new PageSessions({ clock, limits: { maxPageUploadBytes: 10 } })
    ended = []
    sessions.onEnded(principal => void ended.push(principal))
  })

  const tokenOf = (cookie: string) => sessions.createToken(cookie) ?? ''
  const isIn = (token: string) => sessions.ofToken(token) !== null

  it('take a code once, until five minutes have passed', () => {
    const [first, second] = [sessions.createCode(), sessions.createCode()]
    clock.advance(5 * minute - 1)
    expect(sessions.redeem(first)).to.equal(true)
    expect(sessions.redeem(first)).to.equal(false)
    clock.advance(1)
    expect(sessions.redeem(second)).to.equal(false)
  })

  it('give tokens of 256 bits that work for ten minutes', () => {
    const token = tokenOf(sessions.open(byLink))
    expect(token).to.match(/^spt_[\w-]{43}$/)
    clock.advance(10 * minute - 1)
    expect(isIn(token)).to.equal(true)
    clock.advance(1)
    expect(isIn(token)).to.equal(false)
  })

  it('keep the newest ten tokens of a session, and those of others', () => {
    const [cookie, other] = [sessions.open(byLink), sessions.open(byLink)]
    const kept = tokenOf(other)
    const [oldest = '', ...tokens] = Array.from({ length: 11 }, () => tokenOf(cookie))
    expect(isIn(oldest)).to.equal(false)
    expect(tokens.every(isIn)).to.equal(true)
    expect(isIn(kept)).to.equal(true)
  })

  it('end after twelve hours, with the tokens of the last minutes', () => {
    const cookie = sessions.open(byLink)
    clock.advance(12 * hour - minute)
    const token = tokenOf(cookie)
    clock.advance(minute)
    expect(isIn(token)).to.equal(false)
    expect(sessions.createToken(cookie)).to.equal(null)
    expect(ended).to.deep.equal(['page:1'])
  })

  it('end with the key that they were opened with, and not before another one', () => {
    const keyHolder = 'key:anna'
    const expiresAtMs = clock.now() + hour
    const mortal = sessions.open({ mayWrite: false, keyHolder, expiresAtMs })
    const other = sessions.open({ mayWrite: false, keyHolder: 'key:ben' })
    const linked = sessions.open(byLink)
    const session = sessions.ofToken(tokenOf(mortal))
    expect(session).to.include({ expiresAtMs, mayWrite: false, principal: 'page:1' })
    sessions.endOf(keyHolder)
    expect(session?.isEnded).to.equal(true)
    expect(ended).to.deep.equal(['page:1'])
    expect(sessions.createToken(mortal)).to.equal(null)
    expect(isIn(tokenOf(other)) && isIn(tokenOf(linked))).to.equal(true)
  })

  it('make no room for those of a key, which end its own oldest', () => {
    const byKey = { mayWrite: false, keyHolder: 'key:reader' }
    const others = [sessions.open(byLink), sessions.open({ ...byKey, keyHolder: 'key:anna' })]
    const cookies = Array.from({ length: 101 }, () => sessions.open(byKey))
    expect(ended).to.deep.equal(['page:3'])
    expect(sessions.createToken(cookies[0]!)).to.equal(null)
    for (const cookie of others) expect(sessions.createToken(cookie)).to.be.a('string')
  })

  it('by links are the newest hundred, and codes the newest 20', () => {
    const cookies = Array.from({ length: 101 }, () => sessions.open(byLink))
    expect(ended).to.deep.equal(['page:1'])
    const isOpen = cookies.map(cookie => sessions.createToken(cookie) !== null)
    expect([isOpen.indexOf(true), isOpen.lastIndexOf(false)]).to.deep.equal([1, 0])
    const codes = Array.from({ length: 21 }, () => sessions.createCode())
    const redeemed = codes.map(code => sessions.redeem(code))
    expect([redeemed.indexOf(true), redeemed.lastIndexOf(false)]).to.deep.equal([1, 0])
  })
})

describe('UploadQuota', () => {
  it('takes so many bytes in the hour from the first one on, then as many again', () => {
    const clock = settableClock()
    const quota = new UploadQuota(10, clock)
    expect(quota.take(6)).to.equal(true)
    clock.advance(hour - 1000)
    expect(quota.take(5)).to.equal(false)
    expect(quota.take(4)).to.equal(true)
    expect([quota.has(0), quota.has(1), quota.secondsLeft]).to.deep.equal([true, false, 1])
    clock.advance(1000)
    expect(quota.take(10)).to.equal(true)
    expect(quota.take(1)).to.equal(false)
  })
})
