import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { typeOfName } from '../../lib/cli/file-name.ts'
import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { unexpectedAnswer } from '../../lib/mcp/client/failure.ts'
import { hostRequest } from '../../lib/mcp/client/host-request.ts'
import { jsonFault } from '../../lib/util/json-fault.ts'
import { artefactUri } from '../../lib/mcp/artefact-uri.ts'
import { sizeText } from '../../lib/util/amounts.ts'
import { readProblem, usage } from '../../lib/util/errors.ts'
import { parseJson } from '../../lib/util/json.ts'
import { hostEnvironment, instanceFlags } from '../endpoint-flags.ts'
import { findHost } from '../find-host.ts'

export default class ArtefactsPut extends BaseCommand {
  static override summary = 'Store a file in the running server for clients'
  static override description = `Sends a file of any size to your running service-cli serve over its \
host link and prints its URI for clients. Equal bytes are stored once.

${hostEnvironment}`
  static override examples = [
    '<%= config.bin %> artefacts put frame_0024.png',
    'render | <%= config.bin %> artefacts put - --name shot.exr --mime image/x-exr',
    `<%= config.bin %> artefacts put shot.usdz --metadata '{"frame":24}'`,
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
    const { file } = args
    const { metadata } = flags
    const output = processOutput(flags)
    const name = flags.name ?? (file === '-' ? undefined : basename(file))
    const type = flags.mime ?? typeOfName(name ?? '') ?? 'application/octet-stream'
    if (!/^[\x20-\x7e]+$/.test(type))
      throw usage('--mime is not a media type', 'example: image/png')
    const parameters = new URLSearchParams()
    if (name !== undefined) parameters.set('display_name', name)
    if (metadata !== undefined) {
      if (!parseJson(metadata, 64).ok) {
        throw usage(`--metadata is not JSON: ${jsonFault(metadata)}`, `example: '{"frame":24}'`)
      }
      parameters.set('metadata', metadata)
    }
    const target = await findHost(flags, warningsTo(output))
    let size = 0
    const body = Readable.from(bytesOf(file, piece => (size += piece.length)))
    const path = `v1/artefacts?${parameters}`
    const answer = await hostRequest(target, { method: 'POST', path, type, body })
    const { sha256 } = answer
    if (typeof sha256 !== 'string') throw unexpectedAnswer(target.url, 'v1/artefacts')
    const uri = artefactUri(sha256)
    const existed = answer.existed === true
    await output.result(uri, { put_ok: true, uri, sha256, size_bytes: size, existed })
    output.note(existed ? 'already stored' : `stored ${sizeText(size)}`)
  }
}

async function* bytesOf(file: string, onPiece: (piece: Buffer) => void): AsyncGenerator<Buffer> {
  try {
    for await (const piece of file === '-' ? process.stdin : createReadStream(file)) {
      onPiece(piece)
      yield piece
    }
  } catch (error) {
    throw usage(`${file} cannot be read: ${readProblem(error)}`)
  }
}
