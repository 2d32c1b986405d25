import { mkdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import * as Flags from '@oclif/core/flags'
import { pythonClient, readPythonClient } from './adapter-files.ts'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { writeOutputFile } from '../../lib/cli/output-file.ts'
import { processOutput } from '../../lib/cli/output.ts'
import { storageError } from '../../lib/config/private-file.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'

export default class AdapterPython extends BaseCommand {
  static override summary = 'Write the Python client for your own application'
  static override usage = 'adapter python [-o FOLDER] [-f]'
  static override description = `Writes a folder to put beside your own code. It connects the \
application to \`service-cli serve\` and needs only Python 3.7 or newer, which Maya, Houdini, Nuke \
and others include.`
  static override examples = [
    '<%= config.bin %> adapter python',
    `<%= config.bin %> adapter python --out ~/maya/scripts/${pythonClient} --force`,
  ]

  static override flags = {
    out: Flags.string({ char: 'o', description: 'folder to write', helpValue: 'FOLDER' }),
    force: Flags.boolean({ char: 'f', description: 'replace the files of an existing folder' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(AdapterPython)
    const folder = flags.out ?? pythonClient
    if (folder === '') throw usage('--out is empty', 'a variable in your shell may be unset')
    const files = await readPythonClient()
    if (!flags.force && (await stat(folder).catch(() => null)) !== null) {
      throw new ServiceError('file_exists', `${folder} already exists`, {
        hint: 'choose another --out, or add --force to replace its files',
      })
    }
    await mkdir(folder, { recursive: true }).catch((error: unknown) => {
      throw storageError(folder, error)
    })
    for (const { path, bytes } of files) {
      await writeOutputFile(join(folder, path), bytes, { force: true })
    }
    const text = `wrote ${folder} (${files.length} files)\n\n${nextSteps}`
    const facts = { event: 'written', folder: resolve(folder), files: files.length }
    await processOutput(flags).result(flags.quiet ? '' : text, facts)
  }
}

const nextSteps = `Put the folder beside your own code. The docstring of its __init__.py shows how to use
it, as does adapters/python/README.md of the package. Then start the server:
  service-cli serve --dcc-type <your application>`
