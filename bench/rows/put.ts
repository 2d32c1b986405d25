import type { Bench } from '../bench.ts'
import { blobBytes } from '../fixture.ts'
import { compare, type Figures, type Table } from '../measure.ts'
import type { Server } from '../server.ts'

/** Uploads of 4 MiB, each durable when it is answered. */
export async function measurePut(bench: Bench): Promise<Table> {
  const servers = [await bench.startOther('bare-http')]
  for (const [name, entry] of bench.builds) {
    servers.push(await bench.startOurs(name, entry, ['serve']))
  }
  const load = bench.startLoad()
  const upload = async (server: Server, count: number): Promise<Figures> => {
    const before = await server.cpuMs()
    const work = { sent: server.upload(), bytes: blobBytes, count }
    type Uploaded = { elapsedMs: number; p50Ms: number; loadCpu: number }
    const { elapsedMs, p50Ms, loadCpu } = await load.ask<Uploaded>('uploads', work)
    const cpuMs = ((await server.cpuMs()) - before) / count
    return { putsPerSecond: (count / elapsedMs) * 1000, cpuMs, p50Ms, loadCpu }
  }
  const entries = servers.map(server => ({
    name: server.name,
    prepare: () => upload(server, 5),
    measure: () => upload(server, bench.pick(20, 10)),
  }))
  return {
    title: 'artefact upload, 4 MiB, one after the other',
    reference: 'bare-http',
    columns: [
      { title: 'ratio', figure: 'putsPerSecond', show: 'ratio' },
      { title: 'cpu ratio', figure: 'cpuMs', show: 'inverse' },
      { title: 'puts/s', figure: 'putsPerSecond', show: 'value' },
      { title: 'p50 ms', figure: 'p50Ms', show: 'value' },
      { title: 'server ms/put', figure: 'cpuMs', show: 'value' },
      { title: 'load cpu', figure: 'loadCpu', show: 'value' },
    ],
    rounds: await compare(entries, bench.pick(5, 3)),
    notes: ['bare-http: body collected, SHA-256, write, fsync, rename, fsync of the folder'],
  }
}
