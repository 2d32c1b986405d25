import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { gatewayForms } from '../helpers/gateway-forms.ts'
import type { RunningGateway } from '../helpers/gateway-process.ts'
import { gatewayInProcess, serveInProcess } from '../helpers/in-process-servers.ts'
import { RawSession } from '../helpers/mcp.ts'
import {
  type RunningServe,
  type ServeProcess,
  startServeProcess,
} from '../helpers/serve-process.ts'
import { until } from '../helpers/until.ts'

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
 * Starts `count` servers, kills half of them and starts others, `rounds` times. A gateway of each
 * form shows the state of each server, and a running one never as anything but live. Prints the
 * longest delay.
 */
function testGatewayView(count: number, rounds: number): void {
  describe('the view of a gateway', function () {
    this.timeout(60_000 + count * rounds * 15_000)
    let registryDir: string
    let gateways: { gateway: RunningGateway; session: RawSession }[] = []
    const live = new Map<string, RunningServe>()
    /** Seen by all once: from now on it must be there, and live, until it is killed. */
    const known = new Set<string>()

    before(async () => {
      registryDir = await mkdtemp(join(tmpdir(), 'gateway-view-'))
      const starting = gatewayForms.map(async ({ flags }) => {
        const gateway = gatewayInProcess({ port: 0, registryDir, flags })
        const session = await RawSession.open((await gateway.line('listening')).url)
        return { gateway, session }
      })
      gateways = await Promise.all(starting)
    })
    after(async () => {
      await Promise.all([...live.values()].map(serve => serve.stop()))
      await Promise.all(gateways.map(({ gateway }) => gateway.stop()))
      await rm(registryDir, { recursive: true, force: true })
    })

    /** What each gateway shows, by instance. */
    function look(): Promise<Map<string, Seen>[]> {
      const reads = gateways.map(async ({ session }) => {
        const { instances } = await session.readJson(uri)
        return new Map<string, Seen>(instances.map((row: Seen) => [row.instance_id, row]))
      })
      return Promise.all(reads)
    }

    function expectLiveOnes(all: readonly Map<string, Seen>[], living: readonly string[]): void {
      for (const id of living) {
        const rows = all.map(seen => seen.get(id))
        if (rows.every(row => row?.health === 'live')) known.add(id)
        else if (known.has(id))
          expect.fail(`${id} lives, and is ${JSON.stringify(rows.map(row => row ?? 'gone'))}`)
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

    /** Those that a round kills are processes, the others run in this one. */
    async function startMissing(isLast = false): Promise<void> {
      while (live.size < count) {
        const missing = Math.min(atOnce, count - live.size)
        const started = await Promise.all(
          Array.from({ length: missing }, (_, at) => {
            const start = isLast || live.size + at < count / 2 ? serveInProcess : startServeProcess
            return start({ registryDir })
          }),
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
          const all = await look()
          const isLive = (id: string) => all.every(seen => seen.get(id)?.health === 'live')
          return [...live.keys()].every(isLive)
        }
        await until(allLive, `round ${round}: all are live`)
        slowestMs = Math.max(slowestMs, performance.now() - startedMs)
        for (const id of live.keys()) known.add(id)

        const victims = [...live.values()].filter(isProcess)
        const diedMs = performance.now()
        for (const serve of victims) {
          live.delete(serve.instanceId)
          serve.signal('SIGKILL')
        }
        const shown = async () => {
          const all = await look()
          expectLiveOnes(all, [...live.keys()])
          // Removed by a server that starts, or shown as what it is.
          return victims.every(({ instanceId }) =>
            all.every(seen => (seen.get(instanceId)?.health ?? 'dead') === 'dead'),
          )
        }
        await until(shown, `round ${round}: the killed ones are dead`)
        slowestMs = Math.max(slowestMs, performance.now() - diedMs)
        await Promise.all(victims.map(serve => serve.exited))
      }
      await whileWatching(() => startMissing(true))
      console.log(`      right after ${Math.round(slowestMs)} ms at most`)
    })
  })
}

function isProcess(serve: RunningServe): serve is ServeProcess {
  return 'signal' in serve
}

testGatewayView(Number(process.env.GATEWAY_INSTANCES ?? 3), 1)
