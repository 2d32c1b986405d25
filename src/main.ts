import { settings } from '@oclif/core/settings'
import { run } from '@oclif/core/run'
import type { Interfaces } from '@oclif/core'
import { setTimeout } from 'node:timers/promises'
import { homedir } from 'node:os'
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commandNames, loadCommands, selectCommands } from './commands/index.ts'
import { leadingFlags } from './lib/cli/account-flags.ts'
import { hoistGlobalFlags } from './lib/cli/argv.ts'
import { type Failure, describeFailure } from './lib/cli/failure.ts'
import { usage } from './lib/usage.ts'

export interface ProgramFiles {
  /** The package folder, as a file URL. */
  root: string
  /** The parsed package.json: it says where the commands are. */
  pjson: Interfaces.PJSON
}

const stderrWaitMs = 1000

/** The whole program: arguments in, exit code out. Never rejects. */
export async function main(argv: readonly string[], files: ProgramFiles): Promise<void> {
  // Otherwise the command loader looks for TypeScript runners that are not needed here.
  settings.enableAutoTranspile = false
  process.exit(await perform(argv, files))
}

async function perform(argv: readonly string[], files: ProgramFiles): Promise<number> {
  let failure: Failure = { exitCode: 0, stdout: '', stderr: '' }
  try {
    const args = hoistGlobalFlags(argv, leadingFlags)
    const selected = selectCommands(args)
    await loadCommands(selected ?? commandNames)
    const pjson = selected === null ? files.pjson : withoutPlugins(files.pjson)
    if (args[0] === 'autocomplete') requireHome()
    // oclif would run plugins that a folder of data names: without a home, a shared temporary one.
    const plugins = { userPlugins: false, devPlugins: false }
    await run(args, { root: fileURLToPath(files.root), pjson, ...plugins })
  } catch (error) {
    failure = describeFailure(error, wantsJson(argv), commandNames)
  }
  await written(process.stdout, failure.stdout)
  // A stderr that nobody reads must not keep the program from ending.
  await Promise.race([written(process.stderr, failure.stderr), setTimeout(stderrWaitMs)])
  return failure.exitCode
}

/** A command of ours needs none of them, and to find them takes a tenth of the time of a short one. */
function withoutPlugins(pjson: Interfaces.PJSON): Interfaces.PJSON {
  return { ...pjson, oclif: { ...pjson.oclif, plugins: [] } }
}

/** Without one, oclif writes scripts for the shell to the shared temporary folder. */
function requireHome(): void {
  if (isAbsolute(process.env.XDG_CACHE_HOME || homedir())) return
  throw usage('there is no home folder for the script', 'set HOME to an absolute path')
}

/** The flags may be what could not be parsed, so the words themselves are asked. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json')
}

/** Settles when the text, and all before it, has left; also when the reader has gone. */
function written(stream: NodeJS.WriteStream, text: string): Promise<void> {
  // Even nothing cannot be written to a full disk.
  if (text === '' && stream.writableLength === 0) return Promise.resolve()
  return new Promise(resolve => {
    stream.once('error', () => resolve())
    stream.write(text, () => resolve())
  })
}
