import { expect } from 'chai'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseAccountsUrl } from '../../../src/lib/config/accounts-url.ts'
import {
  AccountTokens,
  type CheckedToken,
  isAccountToken,
} from '../../../src/server/auth/account-tokens.ts'

const token = `svc_${'a'.repeat(40)}`
const other = `svc_${'b'.repeat(40)}`

describe('the tokens of an accounts server', () => {
  let server: Server
  let tokens: AccountTokens
  let nowMs: number
  /** What the accounts server answers; null: it is away. */
  let answer: { status: number; team: string | null } | null
  let asked: number
  /** Runs the next look at all that is watched. */
  let look: () => Promise<void>

  beforeEach(async () => {
    ;[nowMs, asked, answer] = [1_000_000, 0, { status: 200, team: 'fx' }]
    server = createServer((_req, res) => {
      asked++
      if (answer === null) return void res.destroy()
      const { status, team } = answer
      const account = { id: 'id-of-ada', username: 'ada', email: 'a@x.example', team }
      const body = { ...account, scopes: ['read'], token: { name: 'ci' }, code: 'token-revoked' }
      res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = parseAccountsUrl(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    if (!url.ok) throw new Error('no address')
    let run = () => {}
    let scheduled = Promise.withResolvers<void>()
    tokens = new AccountTokens({
      server: url.value,
      limits: { joinTokenCheckMs: 3000 },
      ticks: { now: () => nowMs },
      timer: {
        after(_delayMs, next) {
          run = next
          scheduled.resolve()
          return () => {}
        },
      },
    })
    look = async () => {
      scheduled = Promise.withResolvers()
      run()
      await scheduled.promise
    }
  })
  afterEach(() => {
    tokens.close()
    server.close()
    server.closeAllConnections()
  })

  const stateOf = (checked: CheckedToken) =>
    checked.ok ? `${checked.value.username} of ${checked.value.team}` : checked.failure.kind
  const check = async (text = token) => stateOf(await tokens.check(text, 'a'))

  it('asks once for all who come meanwhile, and for none in the time after', async () => {
    const states = await Promise.all(Array.from({ length: 50 }, () => check()))
    expect([new Set(states), asked]).to.deep.equal([new Set(['ada of fx']), 1])
    nowMs += 2999
    expect(tokens.check(token, 'a')).to.not.be.instanceOf(Promise)
    expect(asked).to.equal(1)
    nowMs += 1
    expect(await check()).to.equal('ada of fx')
    expect(asked).to.equal(2)
  })

  it('believes a token for 60 s while the server is away, and no unknown one', async () => {
    await check()
    answer = null
    for (const after of [3000, 30_000, 26_999]) {
      nowMs += after
      expect(await check(), String(nowMs)).to.equal('ada of fx')
    }
    expect(await check(other)).to.equal('unavailable')
    nowMs += 1
    expect(await check()).to.equal('unavailable')
    answer = { status: 200, team: 'fx' }
    expect(await check()).to.equal('ada of fx')
  })

  it('tells watchers of another team and of the end once, and asks for none that is not watched', async () => {
    await check()
    const told: string[] = []
    const stop = tokens.watch(token, now => told.push(stateOf(now)))
    await look()
    expect(told).to.deep.equal([])
    answer = { status: 200, team: 'lighting' }
    await look()
    await look()
    expect(told).to.deep.equal(['ada of lighting'])
    answer = { status: 401, team: null }
    await look()
    expect(told).to.deep.equal(['ada of lighting', 'invalid'])
    stop()
    const before = asked
    await look()
    expect(asked).to.equal(before)
    expect(await check()).to.equal('invalid')
  })

  it('checks other tokens of an account again when one tells of another team', async () => {
    await check()
    await check(other)
    answer = { status: 200, team: 'lighting' }
    nowMs += 2000
    tokens.watch(token, () => {})
    await look()
    expect(await check(other)).to.equal('ada of lighting')
  })

  it('asks for nothing that has the form of no token', async () => {
    const none = ['', 'word', `svc_${'a'.repeat(39)}`, 'a.b', 'a.b.c d', `${'a'.repeat(5000)}.b.c`]
    for (const text of none) {
      expect(isAccountToken(text), text).to.equal(false)
      expect(await check(text), text).to.equal('invalid')
    }
    expect(asked).to.equal(0)
  })

  it('checks at most 32 unknown tokens at the same time, and 16 of one address', async () => {
    const many = (count: number, peerOf: (at: number) => string) =>
      Array.from({ length: count }, async (_, at) => {
        const text = `svc_${peerOf(at)}${String(at).padStart(39, 'c')}`
        const checked = await tokens.check(text, peerOf(at))
        return !checked.ok && checked.failure.reason === 'too many tokens are being checked'
      })
    const refused = await Promise.all([
      ...many(20, () => 'a'),
      ...many(20, at => 'bc'[at % 2] ?? ''),
    ])
    const countOf = (of: readonly boolean[]) => of.filter(Boolean).length
    expect([countOf(refused.slice(0, 20)), countOf(refused.slice(20))]).to.deep.equal([4, 4])
    expect(asked).to.equal(32)
  })
})
