import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { parse } from 'content-disposition'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { extensionOf, safeFileName } from '../../lib/cli/file-name.ts'
import { freeName, writeOutputFile } from '../../lib/cli/output-file.ts'
import { writeStdout } from '../../lib/cli/output.ts'
import { watchStopSignals } from '../../lib/cli/stop-signals.ts'
import { answerMs, openAnswer } from '../../lib/mcp/client/call.ts'
import { sizeText } from '../../lib/util/amounts.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import { withServer } from '../resources/client.ts'
import { endpointFlags } from '../endpoint-flags.ts'
import { findArtefact, hashIn, notStored } from './find-artefact.ts'

export default class ArtefactsGet extends BaseCommand {
  static override summary = 'Download an artefact of any size to a file'
  static override description = `Downloads an artefact and verifies its SHA-256. Without --out the file \
gets the name of the artefact, in the working folder, and never replaces another file.`
  static override examples = [
    '<%= config.bin %> artefacts get shot.exr',
    '<%= config.bin %> artefacts get 3fa1b2c4d5e6 --out frame.png',
    '<%= config.bin %> artefacts get 3fa1b2c4d5e6 --out - | tar tz',
  ]

  static override args = {
    artefact: Args.string({
      description: 'a URI, a name, or at least 4 leading characters of the SHA-256',
      required: true,
      ignoreStdin: true,
    }),
  }

  static override flags = {
    out: Flags.string({
      description: 'the file, or the folder for it; - is stdout',
      helpValue: 'FILE',
    }),
    force: Flags.boolean({ description: 'replace the file of --out' }),
    ...endpointFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ArtefactsGet)
    const { out, force } = flags
    if (out === '-' && process.stdout.isTTY) {
      throw usage('artefacts are not written to a terminal', 'redirect stdout, or name a file')
    }
    const { signal, dispose } = watchStopSignals()
    try {
      await withServer(flags, async (server, output) => {
        const hex = hashIn(args.artefact) ?? (await findArtefact(args.artefact, server))
        const url = new URL(`artefacts/sha256/${hex}`, server.url)
        const request = { url, method: 'GET', headers: {}, signal } as const
        const answer = await openAnswer(server.link, request).catch((error: unknown) => {
          const isMissing = error instanceof ServiceError && error.code === 'resource_not_found'
          throw isMissing ? notStored(hex) : error
        })
        let size = 0
        const chunks = checkedBytes(answer, hex, signal, piece => (size += piece.length))
        if (out === '-') {
          for await (const chunk of chunks) await writeStdout(chunk)
          return
        }
        const file = await targetOf(out, nameOf(answer, hex))
        await writeOutputFile(file, chunks, { force })
        const facts = { got_ok: true, file, sha256: hex, size_bytes: size }
        await output.result(`saved ${file}, ${sizeText(size)}`, facts)
      })
    } finally {
      dispose()
    }
  }
}

/**
 * The bytes as they arrive; fails after the last one when their hash is wrong, which stdout has
 * received then.
 */
async function* checkedBytes(
  answer: IncomingMessage,
  hex: string,
  signal: AbortSignal,
  onPiece: (piece: Buffer) => void,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  answer.setTimeout(answerMs, () => answer.destroy(new Error('the server stopped sending')))
  try {
    for await (const chunk of answer) {
      hash.update(chunk)
      onPiece(chunk)
      yield chunk
    }
  } catch (cause) {
    if (signal.aborted) throw new ServiceError('cancelled', 'cancelled')
    const message = 'the download is incomplete: the connection was cut'
    throw new ServiceError('network_failed', message, { cause, hint: 'run the command again' })
  }
  if (hash.digest('hex') === hex) return
  throw new ServiceError('artefact_corrupt', `the received bytes do not match ${hex}`, {
    hint: 'try again; if it fails again, the stored artefact is damaged',
  })
}

/** The file of `--out`; in a folder, and without `--out`, a free one with this name. */
async function targetOf(out: string | undefined, name: string): Promise<string> {
  if (out === undefined) return freeName(name)
  const found = await stat(out).catch(() => null)
  return found?.isDirectory() || /[/\\]$/.test(out) ? freeName(join(out, name)) : out
}

/** The name that the server sends (RFC 6266), or the start of the hash. */
function nameOf({ headers }: IncomingMessage, hex: string): string {
  const { 'content-disposition': disposition = '', 'content-type': type = null } = headers
  const name = parse(disposition).parameters['filename']
  const known = name === undefined || name === hex ? null : safeFileName(name)
  return known ?? `${hex.slice(0, 12)}${extensionOf(type)}`
}
