import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import * as Flags from '@oclif/core/flags'
import { blenderModule, readBlenderAddon } from './adapter-files.ts'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { quoteArgument } from '../../lib/cli/format.ts'
import { writeOutputFile } from '../../lib/cli/output-file.ts'
import { processOutput, writeStdout } from '../../lib/cli/output.ts'
import { usage } from '../../lib/util/errors.ts'

export default class AdapterBlender extends BaseCommand {
  static override summary = 'Write the Blender add-on as an installable zip'
  static override usage = 'adapter blender [-o FILE] [-f]'
  static override description = `The add-on connects Blender to \`service-cli serve\`: scene, \
operators, console and renders appear as resources. It needs only Blender. The same \
version of service-cli always writes the same bytes.`
  static override examples = [
    '<%= config.bin %> adapter blender',
    '<%= config.bin %> adapter blender --out ~/addons/service-cli.zip --force',
    '<%= config.bin %> adapter blender --out addon.zip --force --json',
  ]

  static override flags = {
    out: Flags.string({
      char: 'o',
      description: 'file to write; - writes to stdout',
      helpValue: 'FILE',
    }),
    force: Flags.boolean({ char: 'f', description: 'replace an existing file' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(AdapterBlender)
    const { out: file = `service-cli-blender-${this.config.version}.zip`, json, force } = flags
    if (file === '') throw usage('--out is empty', 'a variable in your shell may be unset')
    if (file === '-' && json) throw usage('--json and --out - both want stdout', 'write to a file')
    if (file === '-' && process.stdout.isTTY) {
      throw usage('--out - would fill the terminal with a zip', 'lead it into a file or a pipe')
    }
    // Loaded only now: the other commands need no archiver.
    const { zipFolder } = await import('./zip-folder.ts')
    const bytes = zipFolder(blenderModule, await readBlenderAddon())
    if (file === '-') return writeStdout(bytes)
    await writeOutputFile(file, bytes, { force })
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const text = `wrote ${file} (${bytes.length} bytes)\n\n${nextSteps(file)}`
    const facts = { event: 'written', file: resolve(file), bytes: bytes.length, sha256 }
    await processOutput(flags).result(flags.quiet ? '' : text, facts)
  }
}

/** One expression for every shell: the path comes behind `--`, so that it needs no second quoting. */
const installScript = [
  'import bpy, sys',
  'bpy.ops.preferences.addon_install(filepath=sys.argv[-1])',
  `bpy.ops.preferences.addon_enable(module='${blenderModule}')`,
  'bpy.ops.wm.save_userpref()',
]

/** On several lines where every shell continues them; a Windows shell may not. */
function installCommand(path: string, platform: NodeJS.Platform): string {
  const [script, last] =
    platform === 'win32'
      ? [installScript.join('; '), ' ']
      : [installScript.join('; \\\n    '), ' \\\n    ']
  return `blender --background --python-exit-code 1 --python-expr "${script}"${last}-- ${path}`
}

function nextSteps(file: string): string {
  const path = quoteArgument(resolve(file), process.platform)
  return `Install it in Blender:
  Edit > Preferences > Add-ons > Install… (from 4.2 on: the arrow at the top
  right, Install from Disk…), choose the file, enable "service-cli link"
or without a window:
  ${installCommand(path, process.platform)}

Then, in the 3D view, press N, open the tab AI Link, and press Start Server.`
}
