import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { writeOutputFile } from '../../lib/cli/output-file.ts'
import { processOutput, warningsTo, writeStdout } from '../../lib/cli/output.ts'
import { hostDownload } from '../../lib/mcp/client/host-request.ts'
import { usage } from '../../lib/util/errors.ts'
import { findHost } from '../find-host.ts'
import { hostEnvironment, instanceFlags } from '../endpoint-flags.ts'

/** Has the numbers of all notes that are left out. */
const maxEndBytes = 8192

export default class NotesExport extends BaseCommand {
  static override summary = 'Write all notes of the open document to one JSON file'
  static override description = `Writes the notes of the document that is open in the application, \
with their answers, proofs and pictures, as one JSON file for notes import.

${hostEnvironment}`
  static override examples = ['<%= config.bin %> notes export --out shot-010.notes.json']

  static override flags = {
    out: Flags.string({ description: 'write into this file instead of stdout', helpValue: 'FILE' }),
    force: Flags.boolean({ description: 'replace the file of --out' }),
    ...instanceFlags,
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(NotesExport)
    const { out = '-', force } = flags
    if (out === '-' && process.stdout.isTTY) {
      throw usage(
        'notes are not exported to a terminal',
        'redirect stdout, or name a file with --out',
      )
    }
    const output = processOutput(flags)
    const target = await findHost(flags, warningsTo(output))
    let end = Buffer.alloc(0)
    await hostDownload(target, 'v1/notes', async bytes => {
      async function* pieces(): AsyncGenerator<Uint8Array> {
        for await (const piece of bytes) {
          end = Buffer.concat([end, piece]).subarray(-maxEndBytes)
          yield piece
        }
      }
      if (out !== '-') return writeOutputFile(out, pieces(), { force })
      for await (const piece of pieces()) await writeStdout(piece)
    })
    const [, numbers] = /"left_out":\[([\d,]+)\]\}\n$/.exec(String(end)) ?? []
    if (numbers !== undefined) {
      const which = `damaged, or too large for an import: ${numbers.replaceAll(',', ', ')}`
      output.warn(`these notes are not exported, because they are ${which}; see the server's log`)
      process.exitCode = 1
    }
    if (out !== '-') await output.result(`saved ${out}`, { exported_ok: true, file: out })
  }
}
