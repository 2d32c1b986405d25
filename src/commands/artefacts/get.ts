import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from '../resources/endpoint-flags.ts'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { extensionOf, safeFileName } from '../../lib/cli/file-name.ts'
import { freeName, writeOutputFile } from '../../lib/cli/output-file.ts'
import { sizeText } from '../../lib/util/amounts.ts'
import { watchStopSignals } from '../../lib/cli/stop-signals.ts'
import { writeStdout } from '../../lib/cli/output.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import {
  type Download,
  openDownload,
  parseArtefactWord,
  resolveArtefact,
} from '../../lib/mcp/client/artefact-download.ts'
import type { McpSession } from '../../lib/mcp/client/context.ts'
import { type Client, type ClientFlags, withClient } from '../resources/client.ts'
import { Progress } from './progress.ts'

/** Fetches an artefact. */
export default class ArtefactsGet extends BaseCommand {
  static override summary = 'Download an artefact of any size to a file'

  static override description = `Downloads an artefact and verifies its SHA-256. Without --out the file \
gets the name of the artefact, in the working folder, and never replaces another file.

Environment: SERVICE_MCP_API_KEY (the API key), SERVICE_REGISTRY_DIR.`

  static override examples = [
    {
      description: 'by the start of its SHA-256',
      command: '<%= config.bin %> artefacts get 3fa1b2c4d5e6',
    },
    {
      description: 'under another name',
      command: '<%= config.bin %> artefacts get 3fa1b2c4d5e6 --out frame.png',
    },
    {
      description: 'into another program',
      command: '<%= config.bin %> artefacts get 3fa1b2c4d5e6 --out - | tar tz',
    },
  ]

  static override args = {
    artefact: Args.string({
      description: 'a URI, or at least 4 leading characters of the SHA-256',
      required: true,
      ignoreStdin: true,
    }),
  }

  static override flags = {
    out: Flags.string({
      description: 'the file, or the folder for it; - is stdout',
      helpValue: 'FILE',
    }),
    force: Flags.boolean({ description: 'replace the file of --out', default: false }),
    ...endpointFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ArtefactsGet)
    await runGet(args.artefact, flags, process.env)
  }
}

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

/** Downloads an artefact to a file and verifies the hash. */
async function runGet(word: string, flags: GetFlags, env: NodeJS.ProcessEnv): Promise<void> {
  if (flags.out === '-' && process.stdout.isTTY) {
    throw usage('artefacts are not written to a terminal', 'redirect stdout, or name a file')
  }
  const { signal, dispose } = watchStopSignals()
  try {
    await withClient(flags, env, async client => {
      const place = await client.locate()
      if (!place.ok) throw new ServiceError('network_failed', place.failure)
      const { url } = place.value
      const hex = await resolve(word, url, { client, signal })
      const progress = new Progress(hex.slice(0, 12), flags)
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
async function pipe(fetch: Fetch): Promise<void> {
  const download = await start(fetch)
  for await (const chunk of checked(download, fetch)) await writeStdout(chunk)
}

async function save(fetch: Fetch): Promise<void> {
  const { flags, hex } = fetch
  const { folder, name: given } = await readOut(flags.out)
  const download = await start(fetch)
  try {
    const target = join(folder, given ?? nameOf(download, hex))
    if ((await hashOf(target)) === hex) {
      return await report(fetch, target, download.total, 'already exists')
    }
    const file = given === null ? await freeName(target) : target
    await writeOutputFile(file, checked(download, fetch), { force: flags.force && given !== null })
    fetch.progress.end()
    // A device or a pipe has no size.
    await report(fetch, file, download.total ?? (await stat(file)).size, 'saved')
  } finally {
    download.cancel()
  }
}

function start({ client, url, hex, signal }: Fetch): Promise<Download> {
  return openDownload(client.context, { url, hex, signal })
}

/** The bytes as they arrive; fails after the last one when their hash is wrong. */
async function* checked(
  { total, chunks }: Download,
  { hex, progress }: Fetch,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  let done = 0
  progress.begin(total)
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
    progress.moved((done += chunk.length))
  }
  if (hash.digest('hex') === hex) return
  throw new ServiceError('artefact_corrupt', `the received bytes do not match ${hex}`, {
    hint: 'try again; if it fails again, the stored artefact is damaged',
  })
}

/** The SHA-256 of a file in hex; null for anything that is no readable file. */
async function hashOf(path: string): Promise<string | null> {
  const found = await stat(path).catch(() => null)
  if (found?.isFile() !== true) return null
  try {
    const hash = createHash('sha256')
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
    return hash.digest('hex')
  } catch {
    return null
  }
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
