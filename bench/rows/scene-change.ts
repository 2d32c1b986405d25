import type { Bench } from '../bench.ts'
import { compare, type Entry, type Table } from '../measure.ts'
import type { Server } from '../server.ts'

const sizes = [1000, 10_000, 100_000] as const

/** One moved object: the patch that says so, and a client's read of what changed. */
export async function measureSceneChange(bench: Bench): Promise<Table> {
  const changes = bench.pick(500, 100)
  const entries: Entry[] = []
  for (const [name, entry] of bench.builds) {
    for (const size of sizes) {
      const server = await bench.startOurs(name, entry, ['serve'])
      let session = ''
      entries.push({
        name: `${name}, ${size} objects`,
        prepare: async () => {
          session = await server.openSession()
          await server.postScene(sceneOf(size))
          await change(server, session, size, bench.pick(200, 50))
        },
        measure: async () => {
          const [cpu, started] = [await server.cpuMs(), performance.now()]
          await change(server, session, size, changes)
          const ms = (performance.now() - started) / changes
          return { cpuUs: (((await server.cpuMs()) - cpu) / changes) * 1000, ms }
        },
      })
    }
  }
  return {
    title: 'one moved object: PATCH /host/v1/scene, then scene://delta',
    reference: `serve, ${sizes[0]} objects`,
    columns: [
      { title: 'times the CPU', figure: 'cpuUs', show: 'ratio' },
      { title: 'server us/change', figure: 'cpuUs', show: 'value' },
      { title: 'ms/change', figure: 'ms', show: 'value' },
    ],
    rounds: await compare(entries, bench.pick(7, 3)),
  }
}

function objectAt(at: number, x: number): object {
  const type = at % 20 === 0 ? 'light' : 'mesh'
  return { id: `Prop.${at}`, name: `Prop.${at}`, type, translate: [x, 0, 0] }
}

function sceneOf(size: number): string {
  const objects = Array.from({ length: size }, (_, at) => objectAt(at, 0))
  return JSON.stringify({ schema: 'dcc-scene/1', objects })
}

async function change(server: Server, session: string, size: number, count: number): Promise<void> {
  for (let round = 0; round < count; round++) {
    const moved = objectAt((round * 7919) % size, Math.random())
    const revision = await server.patchScene({ objects: [moved] })
    const uri = `scene://delta?since=${revision - 1}`
    const { bytes } = await server.ask(session, 'resources/read', { uri })
    if (bytes > 2000) throw new Error(`a delta of ${bytes} bytes`)
  }
}
