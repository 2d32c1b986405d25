import { expect } from 'chai'
import { createServer, type Server } from 'node:http'
import { AccountTokens, type CheckedToken } from '../../../src/server/auth/account-tokens.ts'
import { clientOf } from '../accounts-client/support.ts'
import { listening } from '../../helpers/listening.ts'

const token = `svc_${'a'.repeat(40)}`
const other = `svc_${'b'.repeat(40)}`

describe('the tokens of an accounts server', () => {
  let server: Server
  let tokens: AccountTokens
  let nowMs: number
  /** What the accounts server answers; null: it is away, and another program is there. */
  let answer: { status: number; team: string | null } | null
  let asked: number
  /** Runs the next look at what is watched. */
  let look: () => Promise<void>

  beforeEach(async () => {
    ;[nowMs, asked, answer] = [1_000_000, 0, { status: 200, team: 'fx' }]
    server = createServer((_req, res) => {
      asked++
      if (answer === null) return void res.writeHead(404).end()
      const { status, team } = answer
      const account = { id: 'id-of-ada', username: 'ada', email: 'a@x.example', team }
      const service = { id: 't', name: 'ci', expires_at: '2027-01-01T00:00:00Z' }
      const refusal = { code: 'token-revoked', detail: 'the token was revoked' }
      const body = status === 200 ? { ...account, scopes: ['read'], token: service } : refusal
      res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    })
    const client = clientOf(`http://127.0.0.1:${await listening(server)}`, {}, 2000)
    let run = () => {}
    let scheduled = Promise.withResolvers<void>()
    const ticks = { now: () => nowMs }
    tokens = new AccountTokens(client, 3000, ticks, {
      after(_delayMs, next) {
        run = next
        scheduled.resolve()
        return () => {}
      },
    })
    look = async () => {
      nowMs += 3000
      scheduled = Promise.withResolvers()
      run()
      await scheduled.promise
    }
  })

  const stateOf = (checked: CheckedToken) =>
    checked.ok ? `${checked.value.username} of ${checked.value.team}` : checked.failure.kind
  const check = async (text = token) => stateOf(await tokens.check(text))

  it('asks once for all who come meanwhile, and for none in the time after', async () => {
    const states = await Promise.all(Array.from({ length: 50 }, () => check()))
    expect([new Set(states), asked]).to.deep.equal([new Set(['ada of fx']), 1])
    nowMs += 2999
    expect(await check()).to.equal('ada of fx')
    expect(asked).to.equal(1)
    nowMs += 1
    expect(await check()).to.equal('ada of fx')
    expect(asked).to.equal(2)
  })

  it('does not ask for what is no token', async () => {
    const states = await Promise.all(['svc_short', 'no token', 'x'.repeat(5000)].map(check))
    expect([...states, asked]).to.deep.equal(['invalid', 'invalid', 'invalid', 0])
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

  it('tells a watcher of another team and of the end, each once', async () => {
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
    await look()
    expect(told).to.deep.equal(['ada of lighting', 'invalid'])
    stop()
    expect(await check()).to.equal('invalid')
  })
})
