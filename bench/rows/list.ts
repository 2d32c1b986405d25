import type { Bench } from '../bench.ts'
import { compare, startAll } from '../compare.ts'
import type { Descriptor, Fixture } from '../fixture.ts'
import { askOnce, postArtefact, postScene } from '../host-link.ts'
import type { Transport } from '../load/transports.ts'
import type { Measured } from '../table.ts'
import { isOurs, type Target } from '../targets.ts'
import { rowName, speakersOf, titleEnd } from './transports.ts'
import { noteDifference, openSessions, requestColumns, requestEntry } from './requests.ts'

const connections = 16
const wanted = 8

/** resources/list of eight; the others list, byte for byte, what `serve` lists. */
export async function measureList(bench: Bench, transport: Transport): Promise<Measured> {
  const notes: string[] = []
  const load = bench.startLoad()
  const names = speakersOf(transport, bench.settings.targets, { withPrepared: true })
  const ours = await startAll(
    bench,
    names.filter(name => isOurs(name)),
    notes,
  )
  let fixture: Fixture = bench.fixture
  for (const target of ours) {
    const [session = ''] = await openSessions(load, target, 1, transport)
    fixture = { ...fixture, descriptors: await fillList(target, { transport, session }, fixture) }
  }
  const others = names.filter(name => !isOurs(name))
  const targets = [...(await startAll(bench, others, notes, { fixture })), ...ours]
  const call = { method: 'resources/list' }
  const entries = targets.map(target =>
    requestEntry(load, {
      name: target.name,
      transport,
      target,
      connections,
      prepare: async (session, found) => {
        const expected = { resources: fixture.descriptors }
        await noteDifference(target, { transport, session, call }, expected, found)
        return [call]
      },
      warmMs: bench.pick(1500, 400),
      measureMs: bench.pick(300, 250),
    }),
  )
  const compared = await compare(entries, bench.pick(21, 3))
  return {
    name: rowName('list', transport),
    title: `resources/list, ${fixture.descriptors.length} resources, ${connections} connections${titleEnd(transport)}`,
    reference: 'bare-http',
    columns: requestColumns,
    rounds: compared.rounds,
    notes: [...notes, ...compared.notes],
  }
}

/** Adds small artefacts until the server lists as many resources as wanted. */
async function fillList(
  target: Target,
  caller: { readonly transport: Transport; readonly session: string },
  fixture: Fixture,
): Promise<readonly Descriptor[]> {
  await postScene(target, fixture.sceneText)
  let listed: readonly Descriptor[] = []
  for (let seed = 0; seed < wanted; seed++) {
    const { result } = await askOnce(target, caller, { method: 'resources/list' })
    listed = (result as { resources: Descriptor[] }).resources
    if (listed.length >= wanted) break
    await postArtefact(target, seed, 1024)
  }
  return listed
}
