import { expect } from 'chai'
import { entry } from '../../helpers/memory-directory.ts'
import { gateway, json, id, other } from './gateway-harness.ts'

describe('gateway://diagnostics', () => {
  it('shows process, memory and versions', async () => {
    const payload = await json(gateway(), 'gateway://diagnostics/process')
    expect(payload).to.include({ success: true })
    expect(payload.message).to.equal('0 live, 0 stale, 0 unhealthy, 0 dead')
    expect(payload.gateway).to.deep.include({
      server_name: 'service-cli',
      own_port: 9765,
      pid: process.pid,
      uptime_seconds: 61,
      node_version: process.versions.node,
    })
    expect(payload.gateway.memory.rss_bytes).to.be.above(1_000_000)
  })

  it('shows probe, heartbeat and reason of every instance, dead ones too', async () => {
    const given = gateway()
    given.directory.put(
      entry({ instanceId: id }),
      entry({ instanceId: other }, { health: 'dead', reason: 'ended', heartbeatAgeMs: null }),
    )
    given.directory.fault({ source: 'x.json', reason: 'no JSON' })
    const payload = await json(given, 'gateway://diagnostics/process')
    expect(payload.instances.map((row: any) => [row.reason, row.diagnostics])).to.deep.equal([
      [
        'its heartbeat is fresh',
        {
          heartbeat_age_ms: 1200,
          not_probed: null,
          probed_at: '2026-01-02T03:04:05.678Z',
          probe_latency_ms: 3.1,
          last_error: { message: 'cut', at: '1970-01-01T00:00:00.000Z' },
        },
      ],
      [
        'ended',
        {
          heartbeat_age_ms: null,
          not_probed: 'it is dead',
          probed_at: null,
          probe_latency_ms: null,
          last_error: null,
        },
      ],
    ])
    expect(payload).to.deep.include({
      index_health: 'degraded',
      faults: [{ source: 'x.json', reason: 'no JSON' }],
      message: '1 live, 0 stale, 0 unhealthy, 1 dead, 1 invalid record',
    })
  })

  it('shows a bounded number of instances and counts all', async () => {
    const given = gateway({ maxInstanceRows: 2 })
    for (let n = 0; n < 5; n++) given.directory.put(entry())
    const payload = await json(given, 'gateway://diagnostics/process')
    expect(payload.instances).to.have.length(2)
    expect(payload).to.deep.include({ capped: true })
    expect(payload.counts).to.include({ total: 5, live: 5 })
  })

  it('shows the current calls and subscriptions of the endpoint', async () => {
    const given = gateway()
    const uri = 'gateway://diagnostics/audit'
    expect((await json(given, uri)).summary).to.deep.include({
      pending_calls: 3,
      sessions: 2,
      open_streams: 1,
      resource_subscriptions: 5,
      resource_subscription_sessions: 2,
    })
    given.activity.pendingCalls = 0
    expect((await json(given, uri)).summary).to.include({ pending_calls: 0 })
    expect((await json(given, uri)).entries).to.deep.equal([])
  })

  it('shows the configured timeouts', async () => {
    const given = gateway({ probeTimeoutMs: 77, instanceStaleMs: 88, sessionIdleMs: 99 })
    const { metrics } = await json(given, 'gateway://diagnostics/metrics')
    expect(metrics).to.include({
      backend_timeout_ms: 77,
      stale_after_ms: 88,
      session_idle_ms: 99,
      mcp_surface: 'resources',
    })
  })
})
