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
import { completionShell, completionSteps } from './lib/cli/completion.ts'
import { renderRootHelp } from './lib/cli/root-help.ts'
import { terminalWidth } from './lib/cli/terminal.ts'
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
    const args = withoutHelpWord(hoistGlobalFlags(argv, leadingFlags))
    if (args.length === 0 || (args.length === 1 && helpFlags.has(args[0] ?? ''))) {
      return await finish({ ...failure, stdout: await rootHelp(files.pjson) })
    }
    const selected = selectCommands(args)
    await loadCommands(selected ?? commandNames)
    const pjson = selected === null ? files.pjson : withoutPlugins(files.pjson)
    // oclif would run plugins that a folder of data names: without a home, a shared temporary one.
    const plugins = { userPlugins: false, devPlugins: false }
    const options = { root: fileURLToPath(files.root), pjson, ...plugins }
    if (isCompletionSetup(args)) {
      requireHome()
      const shell = completionShell(args[1], process.env)
      await run(['autocomplete', shell, '--refresh-cache'], options)
      failure = { ...failure, stdout: completionSteps(shell) }
    } else await run(args, options)
  } catch (error) {
    failure = describeFailure(error, wantsJson(argv), commandNames)
  }
  return finish(failure)
}

/** Writes the last words of the program and returns its exit code. */
async function finish(failure: Failure): Promise<number> {
  await written(process.stdout, failure.stdout)
  // A stderr that nobody reads must not keep the program from ending.
  await Promise.race([written(process.stderr, failure.stderr), setTimeout(stderrWaitMs)])
  return failure.exitCode
}

const helpFlags = new Set(['--help', '-h'])

/** `help keys create` is `keys create --help`. */
function withoutHelpWord(args: string[]): string[] {
  return args[0] === 'help' ? [...args.slice(1), '--help'] : args
}

async function rootHelp(pjson: Interfaces.PJSON): Promise<string> {
  const loaded = await loadCommands(commandNames)
  const { topics } = pjson.oclif
  const commands = new Map<string, string>()
  for (const name of commandNames) {
    const [word = ''] = name.split(':')
    const summary = loaded[word]?.summary ?? topics?.[word]?.description
    commands.set(word, summary ?? '')
  }
  commands.set('help', 'show the flags of a command')
  commands.set('autocomplete', 'complete commands and flags in your shell')
  return renderRootHelp({ commands, width: Math.min(terminalWidth(process.stdout), helpWidth) })
}

/** Longer lines are hard to read; oclif wraps the help of commands at 80 where there is no terminal. */
const helpWidth = 80

/** All but its own sub-commands and help. */
function isCompletionSetup([command, word = '', ...more]: readonly string[]): boolean {
  return command === 'autocomplete' && /^(?:bash|zsh|powershell)?$/.test(word) && more.length === 0
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
