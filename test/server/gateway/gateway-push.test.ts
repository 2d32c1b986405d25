import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import type { InstanceFile } from '../../../src/server/host/instance-record.ts'
import type { GatewayHandle } from '../../../src/server/gateway/options.ts'
import { startGateway } from '../../../src/server/gateway.ts'
import { gatewayForms } from '../../helpers/gateway-forms.ts'
import { writeInstance } from '../../helpers/instance-files.ts'
import { type Events, RawSession } from '../../helpers/mcp.ts'
import { until } from '../../helpers/until.ts'

const uri = 'gateway://instances'
const staleMs = 1500

for (const { form, aggregate } of gatewayForms) {
  describe(`a subscriber of gateway://instances, ${form}`, () => testPushes(aggregate))
}

function testPushes(aggregate: boolean): void {
  let registryDir: string
  let gateway: GatewayHandle
  let session: RawSession
  let events: Events

  before(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'gateway-push-'))
    gateway = await startGateway({
      port: 0,
      host: '127.0.0.1',
      allowedHosts: [],
      allowedOrigins: [],
      registryDir,
      standby: true,
      aggregate,
      accessLog: () => {},
      log: silentLogger,
      limits: { instanceStaleMs: staleMs },
    })
    session = await RawSession.open(gateway.url)
    await session.call('resources/subscribe', { uri })
    events = await session.listen()
  })
  after(async () => {
    await gateway.stop()
    await rm(registryDir, { recursive: true, force: true })
  })

  const updates = () => events.updates.filter(updated => updated === uri).length
  const rowOf = async (id: string) =>
    (await session.readJson(`${uri}?include_dead=true`)).instances.find(
      (row: any) => row.instance_id === id,
    )

  async function expectPushed(change: () => Promise<unknown>, what: string): Promise<void> {
    const before = updates()
    await change()
    await events.until(() => updates() > before, what)
  }

  it('is notified when an instance appears, changes its scene and ends', async () => {
    const instance = await writeInstance(registryDir, { heartbeatMs: 200 })
    const { instance_id: id } = instance.record
    await until(async () => (await rowOf(id)) !== undefined, 'it is there')
    await expectPushed(() => instance.update({ scene: '/a.ma' }), 'another scene')
    expect((await rowOf(id)).scene).to.equal('/a.ma')
    await expectPushed(() => instance.remove(), 'it goes')
    expect(await rowOf(id)).to.equal(undefined)
    let again: InstanceFile | undefined
    await expectPushed(async () => {
      again = await writeInstance(registryDir, { heartbeatMs: 200 })
    }, 'it appears')
    await expectPushed(async () => again?.remove(), 'it goes, too')
  })

  it('is notified when an instance is killed', async () => {
    const child = spawn('sleep', ['600'])
    const instance = await writeInstance(registryDir, { pid: child.pid ?? 0 })
    const { instance_id: id } = instance.record
    await until(async () => (await rowOf(id))?.health === 'live', 'it lives')
    await expectPushed(async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }, 'it dies')
    await until(async () => (await rowOf(id))?.health === 'dead', 'it is dead')
    await instance.remove()
  })

  it('is notified when an instance becomes stale', async () => {
    const instance = await writeInstance(registryDir, { heartbeatMs: 600_000 })
    const { instance_id: id } = instance.record
    await until(async () => (await rowOf(id))?.health === 'live', 'it lives')
    // Earlier updates may still arrive.
    let told = updates()
    while ((await rowOf(id)).health === 'live') {
      await events.until(() => updates() > told, 'it is stale')
      told = updates()
    }
    expect((await rowOf(id)).health).to.equal('stale')
    await instance.remove()
  })
}
