import { expect } from 'chai'
import type { ElectionEvent } from '../../../src/server/gateway/election.ts'
import { type PortNews, reportOf } from '../../../src/server/gateway/election-report.ts'
import { makeActiveGateway } from './active-gateways.ts'

const active = makeActiveGateway()
const by = {
  instanceId: '99999999-2222-4333-8444-555555555555',
  port: 9765,
  registry: active.registry,
}

describe('reportOf', () => {
  const table: [ElectionEvent | PortNews, level: string, told: string][] = [
    [{ event: 'election_won' }, 'info', 'the gateway of port 9765'],
    [{ event: 'takeover', from: active, yielded: true }, 'info', 'process 4711, yielded'],
    [{ event: 'takeover', from: active, yielded: false }, 'info', 'ended without a word'],
    [{ event: 'voluntary_yield' }, 'info', 'leaves port 9765'],
    [{ event: 'contention', active }, 'info', 'standing by'],
    [{ event: 'resident_unresponsive', pid: 4711, active }, 'warn', 'process 4711, accepts'],
    [{ event: 'resident_unresponsive', pid: 7, active: null }, 'warn', 'process 7, accepts'],
    [{ event: 'resident_recovered', active }, 'info', 'answers again'],
    [
      { event: 'port_taken', reason: 'answers oddly' },
      'warn',
      'port 9765 is in use by another program, which answers oddly',
    ],
  ]
  for (const [news, level, told] of table) {
    it(`says of ${news.event}: ${told}`, () => {
      const report = reportOf(news, by)
      expect(report.level).to.equal(level)
      expect(report.message).to.contain(told)
      expect(report.entry).to.include({ event: news.event, reason: report.message })
    })
  }

  it('warns of a gateway that shows another folder', () => {
    const report = reportOf({ event: 'contention', active }, { ...by, registry: 'other' })
    expect(report.level).to.equal('warn')
    expect(report.message).to.contain('another state directory')
  })

  it('names whom it is about', () => {
    expect(reportOf({ event: 'contention', active }, by).entry.instanceId).to.equal('11111111')
    expect(reportOf({ event: 'election_won' }, by).entry.instanceId).to.equal('99999999')
  })
})
