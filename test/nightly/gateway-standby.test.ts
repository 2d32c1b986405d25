import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../helpers/free-port.ts'
import { gatewayForms } from '../helpers/gateway-forms.ts'
import {
  type GatewayProcess,
  type RunningGateway,
  startGatewayProcess,
} from '../helpers/gateway-process.ts'
import { writeInstance } from '../helpers/instance-files.ts'
import { type Events, RawSession } from '../helpers/mcp.ts'
import { until } from '../helpers/until.ts'
import { gatewayInProcess, serveInProcess } from '../helpers/in-process-servers.ts'
import type { RunningServe } from '../helpers/serve-process.ts'

const uri = 'gateway://instances'

interface Subscriber {
  readonly session: RawSession
  readonly events: Events
}

/** As a client does that lost its server: again and again, until there is one. */
async function subscribe(url: string): Promise<Subscriber> {
  let found: Subscriber | null = null
  await until(
    async () => {
      try {
        const session = await RawSession.open(url)
        const { error } = await session.call('resources/subscribe', { uri })
        if (error !== undefined) throw new Error(error.message)
        found = { session, events: await session.listen() }
        return true
      } catch {
        return false
      }
    },
    'a gateway takes the subscription',
    15_000,
  )
  if (found === null) throw new Error('no subscription')
  return found
}

async function idsOf({ session }: Subscriber): Promise<string[]> {
  const list = await session.readJson(uri)
  return list.instances
    .filter((row: any) => row.health === 'live')
    .map((row: any) => row.instance_id)
    .toSorted()
}

/**
 * Kills the active gateway, `rounds` times for each form. The standby takes the port, lists every
 * instance at the first read and notifies new subscribers. Prints the longest takeover.
 */
function testStandby(rounds: number): void {
  describe('a standby gateway', function () {
    this.timeout(60_000 + rounds * 30_000)
    let registryDir: string
    let serve: RunningServe
    const running = new Set<GatewayProcess>()
    let last: RunningGateway | undefined

    beforeEach(async () => {
      registryDir = await mkdtemp(join(tmpdir(), 'gateway-standby-'))
      serve = await serveInProcess({ registryDir })
    })
    afterEach(async () => {
      await Promise.all([...running].map(gateway => gateway.kill()))
      running.clear()
      await last?.stop()
      await serve.stop()
      await rm(registryDir, { recursive: true, force: true })
    })

    for (const { form, flags } of gatewayForms) {
      it(`takes over from a killed gateway ${rounds} times, ${form}`, () => killAndWatch(flags))
    }

    async function killAndWatch(flags: readonly string[]): Promise<void> {
      const start = (port: number): GatewayProcess => {
        const gateway = startGatewayProcess({ port, registryDir, flags })
        running.add(gateway)
        return gateway
      }
      const port = await freePort()
      const other = await writeInstance(registryDir)
      const ids = [serve.instanceId, other.record.instance_id].toSorted()
      let active: GatewayProcess | undefined = start(port)
      const { url } = await active.line('listening')
      let subscriber = await subscribe(url)
      expect(await idsOf(subscriber)).to.deep.equal(ids)
      const times: number[] = []
      try {
        for (let round = 1; round <= rounds; round++) {
          // The last one is not killed.
          const next: GatewayProcess | null = round < rounds ? start(port) : null
          const standby = next ?? (last = gatewayInProcess({ port, registryDir, flags }))
          const said = await standby.line('standby')
          expect(said.resident).to.include({ pid: active.pid, same_registry: true })

          const startedMs = performance.now()
          await active.kill()
          expect((await standby.line('listening')).url).to.equal(url)
          times.push(performance.now() - startedMs)

          await subscriber.events.untilEnded()
          subscriber = await subscribe(url)
          expect(await idsOf(subscriber), `round ${round}`).to.deep.equal(ids)
          await other.update({ scene: `/shots/${round}.ma` })
          const { events } = subscriber
          await events.until(() => events.updates.includes(uri), `the update of round ${round}`)
          const { instances } = await subscriber.session.readJson(uri)
          const scenes = instances.map((row: any) => row.scene)
          expect(scenes).to.include(`/shots/${round}.ma`)
          running.delete(active)
          if (next !== null) active = next
        }
      } finally {
        await other.remove()
      }
      console.log(`      took over within ${Math.round(Math.max(...times))} ms at most`)
    }
  })
}

testStandby(Number(process.env.TAKEOVER_ROUNDS ?? 1))
