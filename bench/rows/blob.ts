import { readFile } from 'node:fs/promises'
import type { Bench } from '../bench.ts'
import { compare, startAll, type Entry } from '../compare.ts'
import { blobMime } from '../fixture.ts'
import { postArtefact } from '../host-link.ts'
import type { Measured } from '../table.ts'
import type { Target } from '../targets.ts'
import { callTexts, differenceOf, openSessions, requestColumns, underLoad } from './requests.ts'

const connections = 4
/** Encoded 171 MiB, far more than the 64 MiB that `serve` keeps encoded. */
const coldArtefacts = 32

/** resources/read of a 4 MiB artefact: always the same one, and one of many in turn. */
export async function measureBlob(bench: Bench): Promise<Measured> {
  const notes: string[] = []
  const targets = await startAll(bench, bench.settings.targets, notes)
  const load = bench.startLoad()
  const entries: Entry[] = []
  const add = async (name: string, target: Target, uris: readonly string[]) => {
    const sessions = await openSessions(load, target, connections)
    const calls = uris.map(uri => ({ method: 'resources/read', params: { uri } }))
    const texts = callTexts(target, calls)
    await underLoad(load, target, texts, sessions, bench.pick(1000, 300))
    const measure = () => underLoad(load, target, texts, sessions, bench.pick(1000, 300))
    entries.push({ name, measure })
  }
  for (const target of targets) {
    const { blobUri } = bench.fixture
    if (target.name === 'serve') {
      const stored: string[] = []
      for (let seed = 0; seed < coldArtefacts; seed++) stored.push(await postArtefact(target, seed))
      await add('serve (hot)', target, [blobUri])
      await add('serve (cold)', target, stored)
    } else {
      await add(target.name, target, [blobUri])
    }
    const note = await checkBlob(bench, target, await openSessions(load, target, 1))
    if (note !== undefined) notes.push(note)
  }
  const compared = await compare(entries, bench.pick(5, 3))
  return {
    name: 'blob',
    title: `resources/read, blob of 4 MiB, ${connections} connections`,
    reference: 'bare-http',
    columns: [...requestColumns, { title: 'MB/s', figure: 'mbps', show: 'value' }],
    rounds: compared.rounds,
    notes: [
      `hot: one artefact again and again; cold: ${coldArtefacts} in turn, each from its file and verified`,
      'the comparison servers hold the one blob encoded in memory',
      ...notes,
      ...compared.notes,
    ],
  }
}

async function checkBlob(
  bench: Bench,
  target: Target,
  [session = '']: readonly string[],
): Promise<string | undefined> {
  const { blobUri, blobFile } = bench.fixture
  const blob = await readFile(blobFile, 'base64')
  const contents = [{ uri: blobUri, mimeType: blobMime, blob }]
  const call = { method: 'resources/read', params: { uri: blobUri } }
  return differenceOf(target, session, call, { contents })
}
