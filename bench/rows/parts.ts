import type { Bench } from '../bench.ts'
import { compare, type Entry, withServerCpu } from '../compare.ts'
import { postScene } from '../host-link.ts'
import type { Measured } from '../table.ts'
import { largeScenes, moveObject, readBytes, sceneOf, sceneSizes } from './scene-change.ts'

const parts = [
  ['summary', 'scene://current?view=summary'],
  ['50 lights', 'scene://current?type=light&fields=id,translate&limit=50'],
  ['one object', 'scene://current?ids=Prop.7'],
] as const
const first = `${parts[0][0]} of ${sceneSizes[0]} objects`

/** The first read of a part after one object has moved. */
export async function measureParts(bench: Bench): Promise<Measured> {
  const reads = bench.pick(40, 10)
  const entries: Entry[] = []
  for (const size of sceneSizes) {
    const target = await bench.start('serve', largeScenes)
    for (const [part, uri] of parts) {
      entries.push({
        name: `${part} of ${size} objects`,
        prepare: async () => {
          await postScene(target, sceneOf(size))
          // The first patch makes objects of the text.
          await moveObject(target, 1)
          await readBytes(target, uri)
        },
        measure: async () => {
          let [cpuMs, bytes] = [0, 0]
          for (let read = 0; read < reads; read++) {
            await moveObject(target, (read * 7919) % size)
            const { serverCpuMs, length } = await withServerCpu(target, async () => {
              return { length: await readBytes(target, uri) }
            })
            cpuMs += serverCpuMs
            bytes = length
          }
          return { cpuMs: cpuMs / reads, bytes }
        },
      })
    }
  }
  const { rounds, notes } = await compare(entries, bench.pick(5, 2))
  return {
    name: 'parts',
    title: 'first read of a part after one object has moved',
    reference: first,
    columns: [
      { title: 'times the CPU', figure: 'cpuMs', show: 'ratio' },
      { title: 'server ms/read', figure: 'cpuMs', show: 'value' },
      { title: 'bytes', figure: 'bytes', show: 'value' },
    ],
    rounds,
    notes,
  }
}
