import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { hostEnvironment, instanceFlags } from '../resources/endpoint-flags.ts'
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { artefactUri } from '../../lib/mcp/uris.ts'
import { typeOfName } from '../../lib/cli/file-name.ts'
import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { sizeText } from '../../lib/util/amounts.ts'
import { watchStopSignals } from '../../lib/cli/stop-signals.ts'
import { readProblem, ServiceError, usage } from '../../lib/util/errors.ts'
import { jsonFault } from '../../lib/mcp/json-fault.ts'
import { parseJson } from '../../lib/util/json.ts'
import { noWait } from '../../lib/util/posix.ts'
import { unexpectedAnswer } from '../../lib/mcp/client/failure.ts'
import { hostRequest } from '../../lib/mcp/client/host-request.ts'
import { defaultMcpClientLimits } from '../../lib/mcp/client/limits.ts'
import { findHost, type HostFlags } from './host-target.ts'
import { Progress } from './progress.ts'

/** Stores a file in the running server. */
export default class ArtefactsPut extends BaseCommand {
  static override summary = 'Store a file in the running server for clients'

  static override description = `Sends a file of any size to your running service-cli serve over its \
host link and prints its URI for clients. Equal bytes are stored once.

${hostEnvironment}`

  static override examples = [
    { description: 'a picture', command: '<%= config.bin %> artefacts put frame_0024.png' },
    {
      description: 'the output of another program',
      command: 'render | <%= config.bin %> artefacts put - --name shot.exr --mime image/x-exr',
    },
    {
      description: 'store with metadata',
      command: `<%= config.bin %> artefacts put shot.usdz --metadata '{"frame":24}'`,
    },
  ]

  static override args = {
    file: Args.string({ description: 'the file; - is stdin', required: true, ignoreStdin: true }),
  }

  static override flags = {
    name: Flags.string({
      description: 'display name [default: the name of the file]',
      helpValue: 'NAME',
    }),
    mime: Flags.string({
      description: 'MIME type [default: by file extension]',
      helpValue: 'TYPE',
    }),
    metadata: Flags.string({ description: 'metadata as JSON', helpValue: 'JSON' }),
    ...instanceFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ArtefactsPut)
    await runPut(args.file, flags, process.env)
  }
}

interface PutFlags extends HostFlags {
  name?: string
  mime?: string
  metadata?: string
}

const stdinName = '-'

/** Stores a file in the running server and prints its URI. */
async function runPut(file: string, flags: PutFlags, env: NodeJS.ProcessEnv): Promise<void> {
  const output = processOutput(flags)
  const query = queryOf(file, flags)
  const { target } = await findHost(flags, env, warningsTo(output))
  const progress = new Progress(
    flags.name ?? (file === stdinName ? 'stdin' : basename(file)),
    flags,
  )
  const source = await openSource(file)
  const { signal, dispose } = watchStopSignals()
  const sent = { bytes: 0, hash: createHash('sha256') }
  try {
    progress.begin(source.size)
    const size: Record<string, string> =
      source.size === null ? {} : { 'Content-Length': String(source.size) }
    const answer = await hostRequest(target, {
      method: 'POST',
      path: `v1/artefacts${query}`,
      headers: { 'Content-Type': mimeOf(file, flags), ...size },
      body: counted(source, sent, progress),
      silenceMs: defaultMcpClientLimits.answerMs,
      signal,
    })
    progress.end()
    const sha256 = sent.hash.digest('hex')
    if (typeof answer.sha256 !== 'string') throw unexpectedAnswer(target.url, 'v1/artefacts')
    if (answer.sha256 !== sha256) {
      throw new ServiceError('artefact_corrupt', 'the server received other bytes than were sent')
    }
    const uri = artefactUri(sha256)
    const existed = answer.existed === true
    await output.result(uri, { put_ok: true, uri, sha256, size_bytes: sent.bytes, existed })
    output.note(existed ? 'already stored' : `stored ${sizeText(sent.bytes)}`)
  } finally {
    progress.end()
    await source.close()
    dispose()
  }
}

interface Source {
  /** Null when unknown before the end. */
  readonly size: number | null
  readonly chunks: AsyncIterable<Buffer>
  close(): Promise<void>
}

async function openSource(file: string): Promise<Source> {
  if (file === stdinName) {
    return { size: null, chunks: process.stdin, close: async () => {} }
  }
  try {
    const handle = await open(file, constants.O_RDONLY | noWait)
    const found = await handle.stat()
    if (!found.isFile()) {
      await handle.close()
      if (found.isDirectory()) throw usage(`${file} is a folder`, 'pack it into one file first')
      throw usage(`${file} is not a regular file`, 'use "-" to store stdin')
    }
    return {
      size: found.size,
      chunks: handle.createReadStream({ autoClose: false, highWaterMark: 256 * 1024 }),
      close: () => handle.close(),
    }
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw usage(`${file} cannot be read: ${readProblem(error)}`)
  }
}

/** Sends at most the initial size of a file that grows meanwhile. */
async function* counted(
  { size, chunks }: Source,
  sent: { bytes: number; hash: ReturnType<typeof createHash> },
  progress: Progress,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    const left = size === null ? chunk.length : size - sent.bytes
    const piece = chunk.length > left ? chunk.subarray(0, left) : chunk
    sent.hash.update(piece)
    sent.bytes += piece.length
    yield piece
    progress.moved(sent.bytes)
    if (sent.bytes === size) return
  }
  if (size !== null && sent.bytes < size) {
    throw new ServiceError('storage_failed', 'the file shrank during the upload')
  }
}

function queryOf(file: string, { name, metadata }: PutFlags): string {
  const parameters = new URLSearchParams()
  const shown = name ?? (file === stdinName ? undefined : basename(file))
  if (shown !== undefined) parameters.set('display_name', shown)
  if (metadata !== undefined) {
    if (!parseJson(metadata, 64).ok) {
      throw usage(`--metadata is not JSON: ${jsonFault(metadata)}`, `example: '{"frame":24}'`)
    }
    parameters.set('metadata', metadata)
  }
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

function mimeOf(file: string, { mime, name }: PutFlags): string {
  const given = mime ?? typeOfName(name ?? file) ?? 'application/octet-stream'
  if (/^[\x20-\x7e]+$/.test(given)) return given
  throw usage('--mime is not a media type', 'example: image/png')
}
