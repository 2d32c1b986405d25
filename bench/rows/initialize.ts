import type { Bench } from '../bench.ts'
import { compare, type Entry, startAll } from '../compare.ts'
import { sessionTexts } from '../load/sessions.ts'
import type { Measured } from '../table.ts'
import { speakersOf } from './transports.ts'
import { requestColumns, underLoad } from './requests.ts'

const connections = 16

/** `initialize`, which opens a session; beyond 10,000 the one that was idle for longest ends. */
export async function measureInitialize(bench: Bench): Promise<Measured> {
  const notes: string[] = []
  const names = speakersOf('session', bench.settings.targets, { withPrepared: true })
  const targets = await startAll(bench, names, notes)
  const load = bench.startLoad()
  const none = new Array<string>(connections).fill('')
  const entries = targets.map((target): Entry => {
    const { initialize } = sessionTexts(target.mcp, '')
    const run = (ms: number) => underLoad(load, target, [initialize], none, ms)
    return {
      name: target.name,
      prepare: async () => void (await run(bench.pick(1500, 400))),
      measure: () => run(bench.pick(300, 250)),
    }
  })
  const compared = await compare(entries, bench.pick(21, 3))
  return {
    name: 'initialize',
    title: `initialize, ${connections} connections`,
    reference: 'bare-http',
    columns: requestColumns,
    rounds: compared.rounds,
    notes: [
      ...notes,
      ...compared.notes,
      'answers differ: serve tells clients how to find their way about, others do not',
    ],
  }
}
