import type { Bench } from '../bench.ts'
import { measureWork } from '../load.ts'
import type { Entry, Row } from '../measure.ts'
import { answered, resultOf, type Server } from '../server.ts'

const sizes = [1000, 10_000, 100_000] as const

/** One moved object: the patch that says so, and a client's read of what changed. */
export async function sceneChangeRow(bench: Bench): Promise<Row> {
  const entries: Entry[] = []
  for (const build of bench.builds) {
    for (const size of sizes) entries.push(entryOf(bench, await bench.startBuild(build), size))
  }
  return {
    title: 'one moved object: PATCH /host/v1/scene, then scene://delta',
    reference: `serve, ${sizes[0]} objects`,
    columns: [
      { title: 'times the CPU', figure: 'cpuUs', show: 'ratio' },
      { title: 'server us/change', figure: 'cpuUs', show: 'value' },
    ],
    entries,
    rounds: bench.pick(7, 3),
  }
}

function entryOf(bench: Bench, server: Server, size: number): Entry {
  let session = ''
  const change = async (count: number) => {
    for (let round = 0; round < count; round++) {
      const patch = JSON.stringify({ objects: [objectAt((round * 7919) % size, Math.random())] })
      const { revision } = JSON.parse(await answered(server.host('PATCH', '/scene', patch)))
      const uri = `scene://delta?since=${revision - 1}`
      const [{ text }] = (await resultOf(server.call(session, 'resources/read', { uri }))).contents
      if (text.length > 2000) throw new Error(`a delta of ${text.length} bytes`)
    }
    return count
  }
  return {
    name: `${server.name}, ${size} objects`,
    prepare: async () => {
      session = await server.openSession()
      const objects = Array.from({ length: size }, (_, at) => objectAt(at, 0))
      await server.postScene(JSON.stringify({ schema: 'dcc-scene/1', objects }))
      await change(bench.pick(200, 50))
    },
    measure: () => measureWork([server], () => change(bench.pick(500, 100))),
  }
}

function objectAt(at: number, x: number): object {
  return { id: `Prop.${at}`, name: `Prop.${at}`, type: 'mesh', translate: [x, 0, 0] }
}
