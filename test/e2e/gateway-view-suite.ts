import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../helpers/free-port.ts'
import { type GatewayProcess, startGatewayProcess } from '../helpers/gateway-process.ts'
import { RawSession } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { until } from './until.ts'

const uri = 'gateway://instances?include_dead=true'
/** As many start at a time: on a small machine more would only wait for each other. */
const atOnce = 4
const lookEveryMs = 100

interface Seen {
  readonly instance_id: string
  readonly health: string
  readonly reason: string
}

/**
 * Starts, kills and restarts `count` real servers, `rounds` times. The gateway shows the state of
 * each, and a running one never as anything but live. Prints the longest delay.
 */
export function testGatewayView(count: number, rounds: number): void {
  describe('the view of a gateway', function () {
    this.timeout(60_000 + count * rounds * 15_000)
    let registryDir: string
    let gateway: GatewayProcess
    let session: RawSession
    const live = new Map<string, ServeProcess>()
    /** Seen once: from now on it must be there, and live, until it is killed. */
    const known = new Set<string>()

    before(async () => {
      registryDir = await mkdtemp(join(tmpdir(), 'gateway-view-'))
      gateway = startGatewayProcess({ port: await freePort(), registryDir })
      session = await RawSession.open((await gateway.line('listening')).url)
    })
    after(async () => {
      for (const serve of live.values()) serve.signal('SIGKILL')
      await Promise.all([...live.values()].map(serve => serve.exited))
      await gateway.stop()
      await rm(registryDir, { recursive: true, force: true })
    })

    async function look(): Promise<Map<string, Seen>> {
      const { instances } = await session.readJson(uri)
      return new Map(instances.map((row: Seen) => [row.instance_id, row]))
    }

    function expectLiveOnes(seen: Map<string, Seen>, living: readonly string[]): void {
      for (const id of living) {
        const row = seen.get(id)
        if (row?.health === 'live') known.add(id)
        else if (known.has(id)) expect.fail(`${id} lives, and is ${JSON.stringify(row ?? 'gone')}`)
      }
    }

    /** Looks all the time until `done`, and holds what it sees against what lives. */
    async function watchUntil(done: () => boolean): Promise<void> {
      while (!done()) {
        // Those that live before the look and after it live while it is made.
        const living = [...live.keys()]
        const seen = await look()
        expectLiveOnes(
          seen,
          living.filter(id => live.has(id)),
        )
        await delay(lookEveryMs)
      }
    }

    async function startMissing(): Promise<void> {
      while (live.size < count) {
        const missing = Math.min(atOnce, count - live.size)
        const started = await Promise.all(
          Array.from({ length: missing }, () => startServeProcess({ registryDir })),
        )
        for (const serve of started) live.set(serve.instanceId, serve)
      }
    }

    async function whileWatching(work: () => Promise<void>): Promise<void> {
      let done = false
      const working = work().finally(() => (done = true))
      await Promise.all([working, watchUntil(() => done)])
    }

    it(`shows ${count} servers that start, are killed and start again`, async () => {
      let slowestMs = 0
      for (let round = 1; round <= rounds; round++) {
        await whileWatching(startMissing)
        const startedMs = performance.now()
        const allLive = async () => {
          const seen = await look()
          return [...live.keys()].every(id => seen.get(id)?.health === 'live')
        }
        await until(allLive, `round ${round}: all are live`)
        slowestMs = Math.max(slowestMs, performance.now() - startedMs)
        for (const id of live.keys()) known.add(id)

        const victims = [...live.values()].filter((_, at) => (at + round) % 2 === 0)
        const diedMs = performance.now()
        for (const serve of victims) {
          live.delete(serve.instanceId)
          serve.signal('SIGKILL')
        }
        const shown = async () => {
          const seen = await look()
          expectLiveOnes(seen, [...live.keys()])
          // Removed by a server that starts, or shown as what it is.
          return victims.every(({ instanceId }) => {
            const health = seen.get(instanceId)?.health
            return health === undefined || health === 'dead'
          })
        }
        await until(shown, `round ${round}: the killed ones are dead`)
        slowestMs = Math.max(slowestMs, performance.now() - diedMs)
        await Promise.all(victims.map(serve => serve.exited))
      }
      await whileWatching(startMissing)
      console.log(`      right after ${Math.round(slowestMs)} ms at most`)
    })
  })
}
