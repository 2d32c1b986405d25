// First: the command parser asks for these as it is loaded.
import './lib/cli/missing-user.ts'
import { settings } from '@oclif/core/settings'
import { run } from '@oclif/core/run'
import type { Interfaces } from '@oclif/core'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { commandNames, loadCommands, selectCommands } from './commands/index.ts'
import { leadingFlags } from './lib/cli/base-command.ts'
import { hoistGlobalFlags } from './lib/cli/argv.ts'
import { type Failure, describeFailure } from './lib/cli/failure.ts'
import { assertOwnCache, completionShell, completionSteps } from './lib/cli/completion.ts'
import { renderRootHelp } from './lib/cli/root-help.ts'
import { terminalWidth } from './lib/cli/terminal.ts'
import { cannotWriteStdout, isClosedPipe } from './lib/cli/write-stdout.ts'

interface ProgramFiles {
  /** The package folder, as a file URL. */
  root: string
  /** The parsed package.json: it says where the commands are. */
  pjson: Interfaces.PJSON
}

const stderrWaitMs = 1000

/** The whole program: arguments in, exit code out. Never rejects. */
export async function main(argv: string[], files: ProgramFiles): Promise<void> {
  process.exit(await perform(argv, files))
}

/** Runs the command that the arguments name and returns the exit code. Never rejects. */
export async function perform(argv: readonly string[], files: ProgramFiles): Promise<number> {
  // Otherwise the command loader looks for TypeScript runners that are not needed here.
  settings.enableAutoTranspile = false
  let failure: Failure = { exitCode: 0, stdout: '', stderr: '' }
  const errors: unknown[] = []
  // Output that does not go through `writeStdout`: help, live lines, the stdio bridge.
  const watchStdout = (): void => {
    process.stdout.removeAllListeners('error')
    process.stdout.on('error', error => {
      if (!isClosedPipe(error)) errors.push(error)
    })
  }
  watchStdout()
  try {
    failure = { ...failure, stdout: await runCommand(argv, files, watchStdout) }
  } catch (error) {
    failure = describeFailure(error, wantsJson(argv), commandNames)
  }
  await written(process.stdout, failure.stdout)
  if (errors.length > 0) {
    const { exitCode, stderr } = describeFailure(cannotWriteStdout(errors[0]), false)
    const said = failure.stderr.includes(stderr) ? '' : stderr
    failure = { ...failure, exitCode: failure.exitCode || exitCode, stderr: failure.stderr + said }
  }
  // A stderr without a reader must not keep the program from ending.
  await Promise.race([written(process.stderr, failure.stderr), setTimeout(stderrWaitMs)])
  return failure.exitCode
}

/** Returns what is still to be written to stdout. Loading the parser adds a listener to stdout that throws. */
async function runCommand(
  argv: readonly string[],
  files: ProgramFiles,
  onLoaded: () => void,
): Promise<string> {
  const args = withoutHelpWord(hoistGlobalFlags(argv, leadingFlags))
  if (args.every(word => helpWords.has(word))) {
    const help = await rootHelp(files.pjson)
    onLoaded()
    return help
  }
  const selected = selectCommands(args)
  await loadCommands(selected ?? commandNames)
  onLoaded()
  const pjson = selected === null ? files.pjson : withoutPlugins(files.pjson)
  // oclif would run plugins that a folder of data names: without a home, a shared temporary one.
  const plugins = { userPlugins: false, devPlugins: false }
  const options = { root: fileURLToPath(files.root), pjson, ...plugins }
  if (args[0] === 'autocomplete' && !args.includes('--help')) await assertOwnCache(process.env)
  if (isCompletionSetup(args)) {
    const shell = completionShell(args[1], process.env)
    await run(['autocomplete', shell, '--refresh-cache'], options)
    return completionSteps(shell)
  }
  await run(args, options)
  return ''
}

const helpWords = new Set(['help', '--help', '-h'])

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
function isCompletionSetup([command, word = '', ...more]: string[]): boolean {
  return command === 'autocomplete' && /^(?:bash|zsh|powershell)?$/.test(word) && more.length === 0
}

/** A command of ours needs none of them, and to find them takes a tenth of the time of a short one. */
function withoutPlugins(pjson: Interfaces.PJSON): Interfaces.PJSON {
  return { ...pjson, oclif: { ...pjson.oclif, plugins: [] } }
}

/** The flags may be what could not be parsed, so the words themselves are asked. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json')
}

/** Settles when the text and all before it has left or failed, and after its `error` event. */
async function written(stream: NodeJS.WriteStream, text: string): Promise<void> {
  // Even nothing cannot be written to a full disk.
  if (text !== '' || stream.writableLength > 0) {
    await new Promise<void>(resolve => {
      stream.once('error', () => resolve())
      stream.write(text, () => resolve())
    })
  }
  await setImmediate()
}
