import { readFile } from 'node:fs/promises'
import type { Bench } from '../bench.ts'
import { compare, startAll } from '../compare.ts'
import { blobMime } from '../fixture.ts'
import { postArtefact } from '../host-link.ts'
import type { Call, Transport } from '../load/transports.ts'
import type { Measured } from '../table.ts'
import { isOurs } from '../targets.ts'
import { rowName, speakersOf, titleEnd } from './transports.ts'
import { noteDifference, requestColumns, requestEntry } from './requests.ts'

const connections = 4
/** Encoded 171 MiB, far more than the 64 MiB that `serve` keeps encoded. */
const coldArtefacts = 32

/** resources/read of a 4 MiB artefact: always the same one, and one of many in turn. */
export async function measureBlob(bench: Bench, transport: Transport): Promise<Measured> {
  const notes: string[] = []
  const targets = await startAll(bench, speakersOf(transport, bench.settings.targets), notes)
  const load = bench.startLoad()
  const { blobUri, blobFile } = bench.fixture
  const hot = readCall(blobUri)
  const contents = [{ uri: blobUri, mimeType: blobMime, blob: await readFile(blobFile, 'base64') }]
  const times = {
    transport,
    connections,
    warmMs: bench.pick(1000, 300),
    measureMs: bench.pick(1000, 300),
  }
  const entries = targets.flatMap(target => {
    const ours = isOurs(target.name)
    const prepareHot = async (session: string, found: string[]) => {
      if (ours) await postArtefact(target, 0)
      await noteDifference(target, { transport, session, call: hot }, { contents }, found)
      return [hot]
    }
    const prepareCold = async () => {
      const calls: Call[] = []
      for (let seed = 1; seed <= coldArtefacts; seed++) {
        calls.push(readCall(await postArtefact(target, seed)))
      }
      return calls
    }
    const name = ours ? `${target.name} (hot)` : target.name
    const entry = requestEntry(load, { ...times, name, target, prepare: prepareHot })
    if (!ours) return [entry]
    const cold = { ...times, name: `${target.name} (cold)`, target, prepare: prepareCold }
    return [entry, requestEntry(load, cold)]
  })
  const compared = await compare(entries, bench.pick(5, 3))
  return {
    name: rowName('blob', transport),
    title: `resources/read, blob of 4 MiB, ${connections} connections${titleEnd(transport)}`,
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

function readCall(uri: string): Call {
  return { method: 'resources/read', params: { uri } }
}
