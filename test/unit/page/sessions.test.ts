import { expect } from 'chai'
import { PageSessions } from '../../../src/server/page/sessions.ts'
import { settableClock } from '../../helpers/settable-clock.ts'

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

  it('take a code once', () => {
    const code = sessions.createCode()
    expect(sessions.redeem(code)).to.equal(true)
    expect(sessions.redeem(code)).to.equal(false)
  })

  it('take a code until five minutes have passed', () => {
    const [first, second] = [sessions.createCode(), sessions.createCode()]
    clock.advance(5 * minute - 1)
    expect(sessions.redeem(first)).to.equal(true)
    clock.advance(1)
    expect(sessions.redeem(second)).to.equal(false)
  })

  it('take no code that was not made, nor a part of one', () => {
    const code = sessions.createCode()
    for (const guessed of ['', code.slice(0, -1), `${code}A`, code.toLowerCase(), 'A'.repeat(43)]) {
      expect(sessions.redeem(guessed), guessed).to.equal(false)
    }
    expect(sessions.redeem(code)).to.equal(true)
  })

  it('take the newest 20 codes', () => {
    const codes = Array.from({ length: 21 }, () => sessions.createCode())
    expect(new Set(codes).size).to.equal(21)
    expect(codes.map(code => sessions.redeem(code))).to.deep.equal([
      false,
      ...Array.from({ length: 20 }, () => true),
    ])
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
    const tokens = Array.from({ length: 11 }, () => tokenOf(cookie))
    expect(tokens.map(isIn)).to.deep.equal([false, ...Array.from({ length: 10 }, () => true)])
    expect(isIn(kept)).to.equal(true)
  })

  it('take neither a cookie as a token nor a token as a cookie', () => {
    const cookie = sessions.open(byLink)
    const token = tokenOf(cookie)
    expect(isIn(cookie)).to.equal(false)
    expect(isIn(`spt_${cookie}`)).to.equal(false)
    expect(sessions.createToken(token)).to.equal(null)
    expect(sessions.createToken(sessions.createCode())).to.equal(null)
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

  it('end with their tokens when they are logged out, once', () => {
    const [cookie, other] = [sessions.open(byLink), sessions.open(byLink)]
    const [token, kept] = [tokenOf(cookie), tokenOf(other)]
    sessions.end(cookie)
    sessions.end(cookie)
    expect(ended).to.deep.equal(['page:1'])
    expect([isIn(token), isIn(kept)]).to.deep.equal([false, true])
  })

  it('make no room for those of a key, which end its own oldest', () => {
    const byKey = { mayWrite: false, keyHolder: 'key:reader' }
    const others = [sessions.open(byLink), sessions.open({ ...byKey, keyHolder: 'key:anna' })]
    const cookies = Array.from({ length: 101 }, () => sessions.open(byKey))
    expect(ended).to.deep.equal(['page:3'])
    expect(sessions.createToken(cookies[0]!)).to.equal(null)
    for (const cookie of others) expect(sessions.createToken(cookie)).to.be.a('string')
  })

  it('share the uploads of a key, also after logging out, and not those of links', () => {
    const byKey = { mayWrite: true, keyHolder: 'key:writer' }
    const uploadsOf = (cookie: string) => sessions.ofToken(tokenOf(cookie))!.uploads
    const first = sessions.open(byKey)
    expect(uploadsOf(first).take(10)).to.equal(true)
    sessions.end(first)
    expect(uploadsOf(sessions.open(byKey)).take(1)).to.equal(false)
    expect(uploadsOf(sessions.open({ ...byKey, keyHolder: 'key:anna' })).take(1)).to.equal(true)
    expect(uploadsOf(sessions.open(byLink)).take(10)).to.equal(true)
    expect(uploadsOf(sessions.open(byLink)).take(10)).to.equal(true)
  })

  it('by links are the newest hundred', () => {
    const cookies = Array.from({ length: 101 }, () => sessions.open(byLink))
    expect(ended).to.deep.equal(['page:1'])
    expect(cookies.map(cookie => sessions.createToken(cookie) !== null)).to.deep.equal([
      false,
      ...Array.from({ length: 100 }, () => true),
    ])
  })

  it('hold no secret as it was given', () => {
    const code = sessions.createCode()
    const cookie = sessions.open(byLink)
    const held = sessions.ofToken(tokenOf(cookie))
    expect(JSON.stringify(held)).not.to.contain(cookie)
    expect(JSON.stringify(sessions)).not.to.contain(code)
  })
})
