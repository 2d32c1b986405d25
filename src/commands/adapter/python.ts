import { mkdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import * as Flags from '@oclif/core/flags'
import { pythonClient, readPythonClient } from './adapter-files.ts'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { writeOutputFile } from '../../lib/cli/output-file.ts'
import { writeStdout } from '../../lib/cli/output.ts'
import { errnoOf, ServiceError, usage } from '../../lib/util/errors.ts'

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
    await makeFolder(folder)
    for (const { path, bytes } of files) {
      await writeOutputFile(join(folder, path), bytes, { force: true })
    }
    if (flags.json) {
      const line = { event: 'written', folder: resolve(folder), files: files.length }
      await writeStdout(`${JSON.stringify(line)}\n`)
    } else if (!flags.quiet) {
      await writeStdout(`wrote ${folder} (${files.length} files)\n\n${nextSteps}`)
    }
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
  } catch (error) {
    const message = `cannot write ${folder} (${errnoOf(error) ?? 'unknown error'})`
    const hint = 'choose a folder you may write in with --out'
    throw new ServiceError('storage_failed', message, { cause: error, hint })
  }
}

const nextSteps = `Put the folder beside your own code. The docstring of its __init__.py shows how to use
it, as does adapters/python/README.md of the package. Then start the server:
  service-cli serve --dcc-type <your application>
`
