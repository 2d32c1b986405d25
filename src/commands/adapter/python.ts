import { pythonClient, readPythonClient } from '../../lib/util/adapter-files.ts'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { checkOutput, outputFlags, writeProduct } from './output.ts'

/** Writes the Python client of the host link: one file that needs nothing else. */
export default class AdapterPython extends BaseCommand {
  static override summary = 'Write the Python client for your own application'

  static override usage = 'adapter python [-o FILE] [-f]'

  static override description = `One file to put beside your own code, for Python 3.7 or newer \
(Maya, Houdini, Nuke and others bring one). It needs the standard library only, and connects the \
application to \`service-cli serve\`.`

  static override examples = [
    {
      description: `write ${pythonClient} into this folder`,
      command: '<%= config.bin %> adapter python',
    },
    {
      description: 'into a folder of scripts, over the one of an older version',
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
  return `Put it beside your own code. How it is used stands at its beginning, and in
adapters/python/README.md of the package. Then start the server:
  service-cli serve --dcc-type <your application>`
}
