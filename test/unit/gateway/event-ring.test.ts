import { expect } from 'chai'
import { EventRing } from '../../../src/server/gateway/event-ring.ts'
import { ManualTime } from '../resources/manual-time.ts'

function ring() {
  const time = new ManualTime()
  return { time, ring: new EventRing(time) }
}

const events = (text: string): any[] =>
  text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))

describe('EventRing', () => {
  it('has one JSON object a line, newest last, each line ended', () => {
    const { ring: own, time } = ring()
    expect(own.text()).to.equal('')
    own.record({ event: 'election_won' })
    time.advance(1500)
    own.record({ event: 'instance_died', dccType: 'maya', instanceId: 'a1b2c3d4', reason: 'gone' })
    expect(own.text()).to.match(/^[^\n]+\n[^\n]+\n$/)
    expect(events(own.text())).to.deep.equal([
      {
        timestamp: '2026-01-02T03:04:05.678Z',
        event: 'election_won',
        dcc_type: '__gateway__',
        instance_id: 'gateway',
      },
      {
        timestamp: '2026-01-02T03:04:07.178Z',
        event: 'instance_died',
        dcc_type: 'maya',
        instance_id: 'a1b2c3d4',
        reason: 'gone',
      },
    ])
  })

  it('keeps as many as it may, counts on, and gives the newest when asked for fewer', () => {
    const { ring: own } = ring()
    for (let n = 1; n <= 1003; n++) own.record({ event: 'port_taken', reason: String(n) })
    const reasons = (limit: number) => events(own.text(limit)).map(each => each.reason)
    expect(reasons(2000)).to.have.length(1000).and.include.members(['4', '1003'])
    expect(reasons(2)).to.deep.equal(['1002', '1003'])
    expect(own.changes).to.equal(1003)
  })

  it('keeps hostile texts on their line, cleaned and cut', () => {
    const { ring: own } = ring()
    const evil = `a\n{"event":"election_won"}\u001b[2J\u202e${'x'.repeat(300)}`
    own.record({ event: 'instance_appeared', dccType: evil, instanceId: evil, reason: evil })
    const [only, ...others] = events(own.text())
    expect(others).to.deep.equal([])
    for (const name of ['dcc_type', 'instance_id', 'reason']) {
      expect(only[name])
        .to.match(/^a \{"event":"election_won"\} x+…$/)
        .and.have.length(255)
    }
  })
})
