import { createHash } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { extensionOf, numberedName, safeFileName } from '../../lib/cli/file-name.ts'
import { fileExists } from '../../lib/cli/output-file.ts'
import { digestOfFile, openPartFile, type PartFile, placePart } from '../../lib/cli/part-file.ts'
import { createProgress, mayShowProgress, type Progress } from '../../lib/cli/progress.ts'
import { sizeText } from '../../lib/util/amounts.ts'
import { watchStopRequest } from '../../lib/cli/stop-signals.ts'
import { writeStdout } from '../../lib/cli/write-stdout.ts'
import { monotonicClock } from '../../lib/util/time.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import {
  type Download,
  openDownload,
  parseArtefactWord,
  resolveArtefact,
} from '../../lib/mcp/client/artefact-download.ts'
import type { McpSession } from '../../lib/mcp/client/context.ts'
import { type Client, type ClientFlags, withClient } from '../resources/client.ts'

interface GetFlags extends ClientFlags {
  out?: string
  force: boolean
}

interface Fetch {
  readonly client: Client
  readonly flags: GetFlags
  readonly url: URL
  readonly hex: string
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** Downloads an artefact to a file, resumes an earlier download, and verifies the hash. */
export async function runGet(word: string, flags: GetFlags, env: NodeJS.ProcessEnv): Promise<void> {
  if (flags.out === '-' && process.stdout.isTTY) {
    throw usage('artefacts are not written to a terminal', 'redirect stdout, or name a file')
  }
  const { signal, dispose } = watchStopRequest()
  try {
    await withClient(flags, env, async client => {
      const place = await client.locate()
      if (!place.ok) throw new ServiceError('network_failed', place.failure)
      const { url } = place.value
      const hex = await resolve(word, url, { client, signal })
      const progress = createProgress({
        label: hex.slice(0, 12),
        enabled: mayShowProgress(flags, process.stderr, env),
        stream: process.stderr,
        clock: monotonicClock,
      })
      const fetch: Fetch = { client, flags, url, hex, progress, signal }
      try {
        await (flags.out === '-' ? pipe(fetch) : save(fetch))
      } finally {
        progress.end()
      }
    })
  } finally {
    dispose()
  }
}

async function resolve(
  word: string,
  url: URL,
  { client, signal }: { client: Client; signal: AbortSignal },
): Promise<string> {
  // A full hash needs no session.
  const hex = parseArtefactWord(word)
  if (hex?.length === 64) return hex
  let session: McpSession | null = null
  try {
    return await resolveArtefact(
      word,
      async () => (session ??= await client.open(url, signal)),
      signal,
    )
  } finally {
    await (session as McpSession | null)?.close()
  }
}

/** Writes to stdout. A wrong hash can only be reported by the exit code, after the last byte. */
async function pipe({ client, url, hex, progress, signal }: Fetch): Promise<void> {
  const download = await openDownload(client.context, { url, hex, from: 0, signal })
  const hash = createHash('sha256')
  let done = 0
  progress.begin(0, download.total)
  for await (const chunk of download.chunks) {
    hash.update(chunk)
    await writeStdout(chunk)
    progress.moved((done += chunk.length))
  }
  if (hash.digest('hex') !== hex) throw damaged(hex)
}

async function save(fetch: Fetch): Promise<void> {
  const { flags, hex } = fetch
  const where = await readOut(flags.out)
  const part = await openPartFile(join(where.folder, `${hex.slice(0, 12)}.part`))
  let keep = false
  try {
    await saveTo(where, fetch, part)
  } catch (error) {
    // The next run resumes the download, unless the bytes are wrong.
    const isWrong = error instanceof ServiceError && error.code === 'artefact_corrupt'
    keep = part.bytes > 0 && !isWrong
    throw error
  } finally {
    await part.close()
    if (!keep) await rm(part.path, { force: true })
  }
}

async function saveTo({ folder, name: given }: Out, fetch: Fetch, part: PartFile): Promise<void> {
  const { client, flags, url, hex, signal } = fetch
  const download = await openDownload(client.context, { url, hex, from: part.bytes, signal })
  const name = given ?? nameOf(download, hex)
  const target = join(folder, name)
  if ((await digestOfFile(target)) === hex) {
    download.cancel()
    return report(fetch, target, download.total, 'already exists')
  }
  if (given !== null && !flags.force && (await isThere(target))) {
    download.cancel()
    throw fileExists(target)
  }
  await receive(fetch, part, download)
  if (part.digest() !== hex) throw damaged(hex)
  const free = { folder, name, numbered: given === null, force: flags.force }
  await report(fetch, await place(part.path, free), part.bytes, 'saved')
}

async function receive({ progress }: Fetch, part: PartFile, download: Download): Promise<void> {
  if (download.from !== part.bytes) await part.clear()
  progress.begin(part.bytes, download.total)
  for await (const chunk of download.chunks) {
    await part.append(chunk)
    progress.moved(part.bytes)
  }
  progress.end()
}

interface Free {
  readonly folder: string
  readonly name: string
  /** Appends a number when the name is taken. */
  readonly numbered: boolean
  readonly force: boolean
}

const maxNumber = 1000

async function place(part: string, { folder, name, numbered, force }: Free): Promise<string> {
  for (let number = 1; number <= (numbered ? maxNumber : 1); number++) {
    const target = join(folder, numberedName(name, number))
    if (await placePart(part, target, force && !numbered)) return target
  }
  throw fileExists(join(folder, name))
}

async function report(
  { client, hex }: Fetch,
  file: string,
  bytes: number | null,
  what: 'saved' | 'already exists',
): Promise<void> {
  const size = bytes === null ? '' : `, ${sizeText(bytes)}`
  const facts = { got_ok: true, file, sha256: hex, size_bytes: bytes, existed: what !== 'saved' }
  await client.output.result(
    what === 'saved' ? `saved ${file}${size}` : `${file} ${what}${size}`,
    facts,
  )
}

interface Out {
  readonly folder: string
  /** Null: the name of the artefact. */
  readonly name: string | null
}

async function readOut(out: string | undefined): Promise<Out> {
  if (out === undefined) return { folder: '.', name: null }
  const found = await stat(out).catch(() => null)
  if (found?.isDirectory() || /[/\\]$/.test(out)) return { folder: out, name: null }
  return { folder: dirname(out), name: basename(out) }
}

function nameOf({ name, mimeType }: Download, hex: string): string {
  const known = name === null || name === hex ? null : safeFileName(name)
  return known ?? `${hex.slice(0, 12)}${extensionOf(mimeType)}`
}

async function isThere(file: string): Promise<boolean> {
  return (await stat(file).catch(() => null)) !== null
}

function damaged(hex: string): ServiceError {
  return new ServiceError('artefact_corrupt', `the received bytes do not match ${hex}`, {
    hint: 'try again; if it fails again, the stored artefact is damaged',
  })
}
