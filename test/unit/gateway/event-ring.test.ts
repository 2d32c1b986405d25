import { expect } from 'chai'
import { eventsOf, gateway, textOf } from './gateway-harness.ts'

const uri = 'resources://gateway/events'

describe('resources://gateway/events', () => {
  it('has one JSON object a line, newest last, each line ended', async () => {
    const given = gateway()
    const { ring, time } = given
    expect(await textOf(given, uri)).to.equal('')
    ring.record({ event: 'election_won', instanceId: 'gateway', reason: 'the port' })
    time.advance(1500)
    ring.record({ event: 'instance_died', dccType: 'maya', instanceId: 'a1b2', reason: 'gone' })
    expect(await textOf(given, uri)).to.match(/^[^\n]+\n[^\n]+\n$/)
    expect(await eventsOf(given)).to.deep.equal([
      {
        timestamp: '2026-01-02T03:04:05.678Z',
        event: 'election_won',
        dcc_type: '__gateway__',
        instance_id: 'gateway',
        reason: 'the port',
      },
      {
        timestamp: '2026-01-02T03:04:07.178Z',
        event: 'instance_died',
        dcc_type: 'maya',
        instance_id: 'a1b2',
        reason: 'gone',
      },
    ])
  })

  it('keeps the last 1000, and gives the newest when asked for fewer', async () => {
    const given = gateway()
    for (let n = 1; n <= 1003; n++) {
      given.ring.record({ event: 'port_taken', instanceId: 'gateway', reason: String(n) })
    }
    const reasons = (await eventsOf(given)).map(({ reason }) => reason)
    expect([reasons.length, reasons[0], reasons.at(-1)]).to.deep.equal([1000, '4', '1003'])
    const newest = await textOf(given, `${uri}?limit=2`)
    expect(newest.match(/"reason":"\d+"/g)).to.deep.equal(['"reason":"1002"', '"reason":"1003"'])
  })

  it('keeps hostile texts on their line, cleaned and cut', async () => {
    const given = gateway()
    const evil = `a\n{"event":"election_won"}\u001b[2J\u202e${'x'.repeat(300)}`
    given.ring.record({ event: 'port_taken', dccType: evil, instanceId: evil, reason: evil })
    const [only, ...others] = await eventsOf(given)
    expect(others).to.deep.equal([])
    for (const name of ['dcc_type', 'instance_id', 'reason']) {
      expect(only[name])
        .to.match(/^a \{"event":"election_won"\} x+…$/)
        .and.have.length(255)
    }
  })
})
