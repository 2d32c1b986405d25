import type { Bench } from '../bench.ts'
import { compare, type Entry, withServerCpu } from '../compare.ts'
import { askOnce, postScene } from '../host-link.ts'
import type { Measured } from '../table.ts'
import type { Target } from '../targets.ts'

export const sceneSizes = [1000, 10_000, 100_000] as const
/** An earlier build takes less than the largest of them by default. */
export const largeScenes = { serveArguments: ['--limit', `maxMessageBytes=${64 * 1024 * 1024}`] }
const first = 'of 1000 objects'

/** One moved object: the patch that says so, and a client's read of what changed. */
export async function measureSceneChange(bench: Bench): Promise<Measured> {
  const changes = bench.pick(500, 100)
  const entries: Entry[] = []
  const sizes = [...sceneSizes, sceneSizes[0]]
  const pairs = bench.builds.flatMap(({ name }) => sizes.map(size => ({ name, size })))
  for (const [at, { name, size }] of pairs.entries()) {
    const target = await bench.start(name, largeScenes)
    const again = at % sizes.length === sceneSizes.length ? ' again' : ''
    entries.push({
      name: `of ${size} objects${again}${name === 'reference' ? ' (reference)' : ''}`,
      prepare: async () => {
        await postScene(target, sceneOf(size))
        await change(target, size, bench.pick(200, 50))
      },
      measure: async () => {
        const before = performance.now()
        const { serverCpuMs } = await withServerCpu(target, async () => {
          await change(target, size, changes)
          return {}
        })
        const tookMs = performance.now() - before
        return { cpuUs: (serverCpuMs / changes) * 1000, ms: tookMs / changes }
      },
    })
  }
  const { rounds, notes } = await compare(entries, bench.pick(7, 3))
  return {
    name: 'scene-change',
    title: 'one moved object: PATCH /host/v1/scene, then scene://delta',
    reference: first,
    columns: [
      { title: 'times the CPU', figure: 'cpuUs', show: 'ratio' },
      { title: 'server us/change', figure: 'cpuUs', show: 'value' },
      { title: 'ms/change', figure: 'ms', show: 'value' },
    ],
    rounds,
    notes,
  }
}

function objectAt(at: number, x: number): object {
  const type = at % 20 === 0 ? 'light' : 'mesh'
  return { id: `Prop.${at}`, name: `Prop.${at}`, type, translate: [x, 0, 0] }
}

export function sceneOf(size: number): string {
  const schema = 'dcc-scene/1'
  return JSON.stringify({
    schema,
    objects: Array.from({ length: size }, (_, at) => objectAt(at, 0)),
  })
}

async function change(target: Target, size: number, count: number): Promise<void> {
  for (let round = 0; round < count; round++) {
    const revision = await moveObject(target, (round * 7919) % size)
    const bytes = await readBytes(target, `scene://delta?since=${revision - 1}`)
    if (bytes > 2000) throw new Error(`a delta of ${bytes} bytes`)
  }
}

/** Sends the patch of one object; returns the revision. */
export async function moveObject(target: Target, at: number): Promise<number> {
  const {
    port,
    path,
    headers = {},
  } = target.host('/v1/scene', { 'Content-Type': 'application/json' })
  const body = JSON.stringify({ objects: [objectAt(at, Math.random())] })
  const url = `http://127.0.0.1:${port}${path}`
  const answer = await fetch(url, { method: 'PATCH', headers, body })
  return ((await answer.json()) as { revision: number }).revision
}

/** Reads the resource; returns the length of the answer. */
export async function readBytes(target: Target, uri: string): Promise<number> {
  const transport = { transport: 'stateless', session: '' } as const
  return (await askOnce(target, transport, { method: 'resources/read', params: { uri } })).bytes
}
