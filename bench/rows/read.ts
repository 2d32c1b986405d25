import type { Bench } from '../bench.ts'
import { compare, startAll } from '../compare.ts'
import { sceneContent, sceneUri } from '../fixture.ts'
import { postScene } from '../host-link.ts'
import type { Transport } from '../load/transports.ts'
import type { Measured } from '../table.ts'
import { rowName, speakersOf, titleEnd } from './transports.ts'
import { noteDifference, requestColumns, requestEntry } from './requests.ts'

const connections = 16

/** resources/read of a scene of 2 KB: guards on, audit wired, access log written to a file. */
export async function measureRead(bench: Bench, transport: Transport): Promise<Measured> {
  const notes: string[] = []
  const names = speakersOf(transport, bench.settings.targets, { withPrepared: true })
  const targets = await startAll(bench, names, notes)
  const load = bench.startLoad()
  const { sceneText } = bench.fixture
  const call = { method: 'resources/read', params: { uri: sceneUri } }
  const contents = [sceneContent(sceneText)]
  const entries = targets.map(target =>
    requestEntry(load, {
      name: target.name,
      transport,
      target,
      connections,
      prepare: async (session, found) => {
        await postScene(target, sceneText)
        await noteDifference(target, { transport, session, call }, { contents }, found)
        return [call]
      },
      warmMs: bench.pick(1500, 400),
      measureMs: bench.pick(300, 250),
    }),
  )
  const compared = await compare(entries, bench.pick(21, 3))
  return {
    name: rowName('read', transport),
    title: `resources/read, 2 KB of JSON, ${connections} connections${titleEnd(transport)}`,
    reference: 'bare-http',
    columns: requestColumns,
    rounds: compared.rounds,
    notes: [...notes, ...compared.notes],
  }
}
