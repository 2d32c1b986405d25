import { expect } from 'chai'
import type { LoginFailures } from '../../../src/server/accounts/account-store.ts'
import { addressKey } from '../../../src/server/accounts/call.ts'
import {
  countFailures,
  createCountedWindows,
  loginDelayMs,
} from '../../../src/server/accounts/login-limits.ts'
import { loggedPath } from '../../../src/server/accounts/app.ts'
import { foldEmail, foldLogin } from '../../../src/server/accounts/names.ts'
import { findPasswordFlaw } from '../../../src/server/accounts/admit-password.ts'

const minute = 60_000

describe('loginDelayMs', () => {
  const now = 1000 * minute
  const failed = (count: number, agoMs = 0): LoginFailures => ({
    source: 'a',
    forgottenAtMs: now - agoMs + count * 15 * minute,
    lastMs: now - agoMs,
  })
  const cases: [what: string, failures: LoginFailures | null, waitMs: number][] = [
    ['nothing failed', null, 0],
    ['nine failed', failed(9), 0],
    ['ten failed', failed(10), 30_000],
    ['ten failed, the wait is over', failed(10, 30_000), 0],
    ['fifteen failed: the longest wait', failed(15), 15 * minute],
    ['ten thousand failed', failed(10_000), 15 * minute],
    ['the clock was set back a little', failed(9, -minute), minute + 30_000],
    ['the clock was set back by years', failed(99, -1_000_000 * minute), 0],
  ]
  for (const [what, failures, waitMs] of cases) {
    it(`${waitMs === 0 ? 'lets in' : `asks for ${waitMs} ms`} when ${what}`, () => {
      expect(loginDelayMs(failures, 10, now)).to.equal(waitMs)
    })
  }

  it('forgets one failure in a quarter of an hour', () => {
    const counts = [0, 1, 15, 16, 150, 10_000].map(at =>
      countFailures(failed(10, at * minute), now),
    )
    expect(counts).to.deep.equal([10, 10, 9, 9, 0, 0])
  })
})

describe('createCountedWindows', () => {
  const windows = () => createCountedWindows({ windowMs: 1000, most: 2, maxKeys: 2 })

  it('begins anew when the window is over, or the clock was set back', () => {
    for (const later of [1100, 50]) {
      const counted = windows()
      counted.add('a', 100)
      counted.add('a', 100)
      expect(counted.waitMs('a', later)).to.equal(0)
    }
  })

  it('forgets the longest known key when there are too many', () => {
    const counted = windows()
    for (const key of ['a', 'a', 'b', 'b', 'c', 'c']) counted.add(key, 0)
    expect(['a', 'b', 'c'].map(key => counted.waitMs(key, 0))).to.deep.equal([0, 1000, 1000])
  })
})

describe('addressKey', () => {
  const cases: [address: string | undefined, key: string][] = [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['::1', 'loopback'],
    ['127.200.3.4', 'loopback'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
    [undefined, 'unknown'],
  ]
  for (const [address, key] of cases) {
    it(`counts ${address} as ${key}`, () => expect(addressKey(address)).to.equal(key))
  }
})

describe('names', () => {
  it('folds user names and addresses, each in its way', () => {
    expect(foldLogin('Alice')).to.equal('alice')
    expect(foldLogin('A.B@Studio.Example')).to.equal('a.b@studio.example')
    expect(foldEmail('e\u0301@x.example')).to.equal('\u00e9@x.example')
  })
})

describe('findPasswordFlaw', () => {
  const of = { username: 'Al.Green', email: 'Al@Studio.Example' }
  const cases: [password: string, flaw: string | null][] = [
    ['password', 'common'],
    ['Summer2027!', 'common'],
    ['aaaaaaaa', 'common'],
    ['abcabcabc', 'common'],
    ['12345678', 'common'],
    ['hgfedcba', 'common'],
    ['AL.GREEN', 'is_username'],
    ['al@studio.example', 'is_email'],
    ['a long and honest phrase', null],
    ['пароль-длинный', null],
  ]
  for (const [password, flaw] of cases) {
    it(`${flaw ?? 'nothing'} against ${password}`, async () => {
      expect(await findPasswordFlaw(password, of)).to.equal(flaw)
    })
  }

  it('knows the first part of the address', async () => {
    const email = 'grace.hopper@studio.example'
    expect(await findPasswordFlaw('Grace.Hopper', { username: 'gh', email })).to.equal('is_email')
  })
})

describe('loggedPath', () => {
  it('hides what looks like a token, wherever it is', () => {
    const hidden = ['svc_abcdefgh12345678', 'srt_abcdefgh12345678', 'eyJhbGciOiJFUzI1NiJ9.x.y']
    for (const secret of hidden) {
      expect(loggedPath(`/a/${secret}/b`)).to.equal('/a/[redacted]/b')
    }
    expect(loggedPath('/api/v1/auth/me')).to.equal('/api/v1/auth/me')
  })
})
