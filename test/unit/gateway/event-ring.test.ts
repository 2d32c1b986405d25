import { expect } from 'chai'
import { eventsOf, gateway, textOf } from './gateway-harness.ts'

const uri = 'resources://gateway/events'

describe('resources://gateway/events', () => {
  it('keeps the last 1000, and gives the newest when asked for fewer', async () => {
    const given = gateway()
    for (let n = 1; n <= 1003; n++) {
      given.ring.record({ event: 'port_taken', instanceId: 'gateway', reason: String(n) })
    }
    const events = await eventsOf(given)
    expect(events[0]).to.include({ dcc_type: '__gateway__', instance_id: 'gateway' })
    const reasons = events.map(({ reason }) => reason)
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
