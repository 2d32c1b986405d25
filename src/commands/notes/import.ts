import { readFile } from 'node:fs/promises'
import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { hostRequest } from '../../lib/mcp/client/host-request.ts'
import { counted } from '../../lib/util/amounts.ts'
import { readProblem, ServiceError, usage } from '../../lib/util/errors.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import { isJsonObject, maxJsonDepth, parseJson } from '../../lib/util/json.ts'
import { findHost } from '../find-host.ts'
import { hostEnvironment, instanceFlags } from '../endpoint-flags.ts'

export default class NotesImport extends BaseCommand {
  static override summary = 'Add exported notes to the open document'
  static override description = `Adds the notes of a file that notes export wrote to the document that \
is open in the application, with their answers, proofs and pictures. They get the next \
free numbers. A note that the document has already is left as it is.

${hostEnvironment}`
  static override examples = ['<%= config.bin %> notes import shot-010.notes.json']

  static override args = {
    file: Args.string({ description: 'the file', required: true, ignoreStdin: true }),
  }

  static override flags = instanceFlags

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(NotesImport)
    const notes = await notesIn(args.file)
    const output = processOutput(flags)
    const target = await findHost(flags, warningsTo(output))
    const path = 'v1/notes/import'
    let [imported, existed] = [0, 0]
    for (const [at, body] of notes.entries()) {
      try {
        if ((await hostRequest(target, { method: 'POST', path, body })).existed === true) existed++
        else imported++
      } catch (error) {
        // Anything else is not about this note alone.
        if (!(error instanceof ServiceError) || error.code !== 'request_refused') throw error
        output.warn(`note ${at + 1} of the file is not imported: ${error.message}`)
        process.exitCode = 1
      }
    }
    const rest = existed === 0 ? '' : `; the document already has ${existed}`
    await output.result(`imported ${counted(imported, 'note')}${rest}`, { imported, existed })
  }
}

async function notesIn(file: string): Promise<readonly object[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw usage(`${file} cannot be read: ${readProblem(error)}`)
  })
  const parsed = parseJson(text, maxJsonDepth, parseExact)
  const notes = parsed.ok && isJsonObject(parsed.value) ? parsed.value.notes : null
  if (Array.isArray(notes) && notes.every(isJsonObject)) return notes
  throw usage(
    `${file} has no exported notes`,
    'service-cli notes export --out FILE makes such a file',
  )
}
