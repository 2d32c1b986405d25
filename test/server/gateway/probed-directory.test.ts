import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import type { InstanceChange } from '../../../src/server/gateway/instance-directory.ts'
import { createProbedDirectory } from '../../../src/server/gateway/probed-directory.ts'
import { ProbeScenario } from './probe-scenario.ts'
import { makeRecord } from './support.ts'

describe('createProbedDirectory', () => {
  let at: ProbeScenario
  beforeEach(async () => (at = await ProbeScenario.begin()))
  afterEach(() => at.close())

  it('makes who fails twice unhealthy, tells it once, and takes it back', async () => {
    let status = 500
    const url = await at.answering((_request, response) => {
      response.writeHead(status)
      response.end()
    })
    const [id = ''] = await at.open({ records: [{ mcp_url: url }, {}] })
    const directory = createProbedDirectory({
      directory: at.under.directory,
      probes: at.probes,
      limits: { maxProbeFailures: 2 },
      log: silentLogger,
    })
    const heard: string[] = []
    directory.onChange(changes => heard.push(...changes.map(describeChange)))
    const verdict = () => directory.entries.find(one => one.record.instanceId === id)?.verdict
    let result = await at.resultOf(id)
    expect(verdict()?.health).to.equal('live')
    for (let round = 0; round < 3; round++) {
      at.time.advance(5000)
      result = await at.resultOf(id, result)
    }
    expect(verdict()).to.include({
      health: 'unhealthy',
      reason: 'it is not ready: /readyz answered 500',
    })
    expect(verdict()?.heartbeatAgeMs).to.be.a('number')
    const { entries } = directory
    status = 200
    at.time.advance(5000)
    await at.resultOf(id, result)
    expect(verdict()?.health).to.equal('live')
    expect(directory.entries).to.not.equal(entries)
    const ofIt = heard.filter(text => text.includes(id))
    expect(ofIt).to.deep.equal([`changed ${id} unhealthy`, `changed ${id} live`])
  })

  it('holds nothing of before against one that is back from silence', async () => {
    const url = await at.answering((_request, response) => {
      response.writeHead(503)
      response.end()
    })
    const record = makeRecord({ mcp_url: url })
    const file = await at.under.register(record)
    const [other = ''] = await at.open({ records: [{ mcp_url: url }] })
    const directory = createProbedDirectory({
      directory: at.under.directory,
      probes: at.probes,
      limits: { maxProbeFailures: 2 },
      log: silentLogger,
    })
    const health = () =>
      directory.entries.find(one => one.record.instanceId === record.instance_id)?.verdict.health
    let result = await at.resultOf(record.instance_id)
    at.time.advance(5000)
    result = await at.resultOf(record.instance_id, result)
    expect(result.failuresInARow).to.equal(2)
    expect(health()).to.equal('unhealthy')
    await at.under.pass(31_000)
    expect(health()).to.equal('stale')
    await file.beat()
    await directory.refresh()
    expect(health()).to.equal('live')
    expect(at.probes.of(record.instance_id)?.lastError).to.equal('/readyz answered 503')
    expect(at.probes.of(other)).to.include({ failuresInARow: 0 })
  })

  it('passes on what the directory below tells, faults too', async () => {
    const [id = ''] = await at.open({ records: [{ mcp_url: 'http://10.0.0.5/mcp' }] })
    const directory = createProbedDirectory({
      directory: at.under.directory,
      probes: at.probes,
      limits: { maxProbeFailures: 2 },
      log: silentLogger,
    })
    expect(directory.entries).to.deep.equal(at.under.directory.entries)
    expect(directory.entries).to.equal(directory.entries)
    const heard: string[] = []
    directory.onChange(changes => heard.push(changes.map(describeChange).join(', ')))
    await at.under.place(id, 'nonsense')
    await directory.refresh()
    expect(heard).to.deep.equal([`gone ${id} live, fault ${id}.json`])
    expect(directory.faults).to.equal(at.under.directory.faults)
    await directory.close()
    await at.under.place(id, JSON.stringify(makeRecord({ instance_id: id })))
    await at.under.directory.refresh()
    expect(heard).to.have.length(1)
  })
})

function describeChange(change: InstanceChange): string {
  if ('fault' in change) return `${change.kind} ${change.fault.source}`
  const { record, verdict } = change.entry
  return `${change.kind} ${record.instanceId} ${verdict.health}`
}
