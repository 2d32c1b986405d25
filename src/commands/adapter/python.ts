import { pythonClient, readPythonClient } from './adapter-files.ts'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { checkOutput, outputFlags, writeProduct } from './output.ts'

/** Writes the Python client of the host link: one file that needs nothing else. */
export default class AdapterPython extends BaseCommand {
  static override summary = 'Write the Python client for your own application'

  static override usage = 'adapter python [-o FILE] [-f]'

  static override description = `Writes one file to put beside your own code. It connects the \
application to \`service-cli serve\` and needs only Python 3.7 or newer, which Maya, Houdini, Nuke \
and others include.`

  static override examples = [
    {
      description: `write ${pythonClient} into this folder`,
      command: '<%= config.bin %> adapter python',
    },
    {
      description: 'replace the file of an older version',
      command: `<%= config.bin %> adapter python --out ~/maya/scripts/${pythonClient} --force`,
    },
    { description: 'read it', command: '<%= config.bin %> adapter python --out -' },
  ]

  static override flags = outputFlags

  override async run(): Promise<void> {
    const { flags } = await this.parse(AdapterPython)
    checkOutput(flags, { binary: false, terminal: process.stdout.isTTY })
    const bytes = await readPythonClient()
    await writeProduct({ bytes, defaultName: pythonClient, nextSteps }, flags)
  }
}

function nextSteps(): string {
  return `Put it beside your own code. Its docstring shows how to use it, as does
adapters/python/README.md of the package. Then start the server:
  service-cli serve --dcc-type <your application>`
}
