import { expect } from 'chai'
import { type Ending, afterEnding } from '../../../src/lib/host-link/after-ending.ts'
import { retryDelay } from '../../../src/lib/util/time.ts'

describe('retryDelay', () => {
  const table: [attempt: number, random: number, delayMs: number][] = [
    [0, 0.5, 250],
    [1, 0.5, 500],
    [2, 0.5, 1000],
    [5, 0.5, 8000],
    [6, 0.5, 10_000],
    [5000, 0.5, 10_000],
    [0, 0, 200],
    [0, 1, 300],
    [6, 0, 8000],
    [6, 1, 12_000],
  ]
  for (const [attempt, random, delayMs] of table) {
    it(`is ${delayMs} ms at attempt ${attempt} with ${random}`, () => {
      expect(retryDelay(attempt, () => random)).to.equal(delayMs)
    })
  }
})

describe('afterEnding', () => {
  const facts = { attempt: 1, explicitToken: false, reconnectAfterMs: 0, random: () => 0.5 }
  const closed = (code: number, reason = ''): Ending => ({ kind: 'closed', code, reason })
  const http = (status: number): Ending => ({ kind: 'http', status })
  const lost: Ending = { kind: 'lost', text: 'the connection was lost' }
  const table: [ending: Ending, delayMs: number | null, text: RegExp, more?: object][] = [
    [{ kind: 'nowhere' }, 500, /no running service-cli serve/],
    [lost, 500, /^the connection was lost$/],
    [lost, 3000, /lost/, { reconnectAfterMs: 3000 }],
    [lost, 500, /lost/, { reconnectAfterMs: 100 }],
    [http(401), 500, /read again/],
    [http(401), null, /does not accept the host token$/, { explicitToken: true }],
    [http(403), 500, /403/, { explicitToken: true }],
    [http(404), 500, /no host link/],
    [http(503), 500, /HTTP 503/],
    [closed(1000), 500, /1000/],
    [closed(1001), 500, /the server stopped/],
    [closed(1009), 500, /too large/],
    [closed(1013), 500, /not taken/],
    [closed(4400, 'no type'), 500, /4400: no type/],
    [closed(4406), null, /no common version/],
    [closed(4408), 500, /4408/],
    [closed(4409), null, /took over/],
    [closed(4423), 10_000, /another application/],
  ]
  for (const [ending, delayMs, text, more] of table) {
    const name = `${JSON.stringify(ending)}${more ? ` with ${JSON.stringify(more)}` : ''}`
    it(`${delayMs === null ? 'gives up' : `waits ${delayMs} ms`} after ${name}`, () => {
      const next = afterEnding(ending, { ...facts, ...more })
      expect(next.retry ? next.delayMs : null).to.equal(delayMs)
      expect(next.text).to.match(text)
    })
  }
})
