import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Bench } from '../bench.ts'
import { compare, startAll, withServerCpu } from '../compare.ts'
import { blobBytes, blobMime } from '../fixture.ts'
import { postArtefact } from '../host-link.ts'
import { requestText } from '../load/http-text.ts'
import type { UploadsResult } from '../load/uploads.ts'
import type { Figures } from '../stats.ts'
import type { Measured } from '../table.ts'
import { isOurs, type Target, type TargetName } from '../targets.ts'
import { requestColumns, underLoad } from './requests.ts'

/** The servers that have an upload and a download at all. */
const withFiles: readonly TargetName[] = ['bare-http', 'bare-http again', 'serve', 'reference']
const downloads = 4

/** Uploads of 4 MiB, each durable when it is answered. */
export async function measurePut(bench: Bench): Promise<Measured> {
  const { targets, notes } = await startWithFiles(bench)
  const load = bench.startLoad()
  const upload = async (target: Target, count: number): Promise<Figures> => {
    const headers = { 'Content-Type': blobMime, 'Content-Length': String(blobBytes) }
    const place = target.host('/v1/artefacts', headers)
    const head = requestText('POST', place).replace('Content-Length: 0\r\n', '')
    const work = { port: place.port, head, bytes: blobBytes, count, status: 201 }
    const result = await withServerCpu(target, () =>
      load.ask<UploadsResult & { loadCpu: number }>('uploads', work),
    )
    const { completed, elapsedMs, serverCpuMs, p50Ms, loadCpu } = result
    const putsPerSecond = (completed / elapsedMs) * 1000
    return { putsPerSecond, cpuMs: serverCpuMs / completed, p50Ms, loadCpu }
  }
  const entries = targets.map(target => ({
    name: target.name,
    prepare: async () => void (await upload(target, 5)),
    measure: () => upload(target, bench.pick(20, 10)),
  }))
  const compared = await compare(entries, bench.pick(5, 3))
  return {
    name: 'put',
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
    rounds: compared.rounds,
    notes: [
      'bare-http: body collected, SHA-256, write, fsync, rename, fsync of the folder',
      ...notes,
      ...compared.notes,
    ],
  }
}

/** Downloads of one artefact of 4 MiB. */
export async function measureGet(bench: Bench): Promise<Measured> {
  const { targets, notes } = await startWithFiles(bench)
  const load = bench.startLoad()
  const hex = hash('sha256', await readFile(bench.fixture.blobFile), 'hex')
  const sessions = Array.from({ length: downloads }, () => '')
  const entries = targets.map(target => {
    const texts = [requestText('GET', { port: target.port, path: `/artefacts/sha256/${hex}` })]
    const measure = () => underLoad(load, target, texts, sessions, bench.pick(1000, 300))
    const prepare = async () => {
      if (isOurs(target.name)) await postArtefact(target, 0)
      await measure()
    }
    return { name: target.name, prepare, measure }
  })
  const compared = await compare(entries, bench.pick(5, 3))
  return {
    name: 'get',
    title: `artefact download, 4 MiB, ${downloads} connections`,
    reference: 'bare-http',
    columns: [...requestColumns, { title: 'MB/s', figure: 'mbps', show: 'value' }],
    rounds: compared.rounds,
    notes: [
      'bare-http: the file piped into the answer; all files in the page cache',
      ...notes,
      ...compared.notes,
    ],
  }
}

async function startWithFiles(bench: Bench): Promise<{ targets: Target[]; notes: string[] }> {
  const notes: string[] = []
  const names = bench.settings.targets.filter(name => withFiles.includes(name))
  return { targets: await startAll(bench, names, notes), notes }
}
