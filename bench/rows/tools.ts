import type { Bench } from '../bench.ts'
import { compare, startAll } from '../compare.ts'
import { sceneUri } from '../fixture.ts'
import { postScene } from '../host-link.ts'
import type { Call } from '../load/transports.ts'
import type { Measured } from '../table.ts'
import { requestColumns, requestEntry } from './requests.ts'

const read: Call = { method: 'resources/read', params: { uri: sceneUri } }
const tool = (name: string, args: object): Call => ({
  method: 'tools/call',
  params: { name, arguments: args },
})

const calls: readonly (readonly [name: string, call: Call])[] = [
  ['resources/read', read],
  ['resources/read again', read],
  ['read_resource', tool('read_resource', { uri: sceneUri })],
  ['query_scene', tool('query_scene', {})],
]

/** Tools beside the resource that they read: the same 2 KB of JSON, of one server. */
export async function measureTools(bench: Bench): Promise<Measured> {
  const notes: string[] = []
  const [target] = await startAll(bench, ['serve'], notes)
  if (target === undefined) throw new Error('serve did not start')
  const load = bench.startLoad()
  const entries = calls.map(([name, call]) =>
    requestEntry(load, {
      name,
      transport: 'session',
      target,
      connections: 16,
      prepare: async () => {
        await postScene(target, bench.fixture.sceneText)
        return [call]
      },
      warmMs: bench.pick(1500, 400),
      measureMs: bench.pick(1000, 250),
    }),
  )
  const compared = await compare(entries, bench.pick(7, 3))
  return {
    name: 'tools',
    title: 'tools beside resources/read, 2 KB of JSON, 16 connections',
    reference: 'resources/read',
    columns: requestColumns,
    rounds: compared.rounds,
    notes: [...notes, ...compared.notes],
  }
}
