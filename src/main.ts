// First: the command parser asks for these as it is loaded.
import './lib/cli/missing-user.ts'
import { settings } from '@oclif/core/settings'
import { run } from '@oclif/core/run'
import type { Interfaces } from '@oclif/core'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { commandNames, loadCommands, selectCommands } from './commands/index.ts'
import { leadingFlags } from './lib/cli/account-flags.ts'
import { hoistGlobalFlags } from './lib/cli/argv.ts'
import { type Failure, describeFailure } from './lib/cli/failure.ts'
import { cannotWriteStdout, isClosedPipe } from './lib/cli/write-stdout.ts'

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
  // Output that does not go through `writeStdout`: help, live lines, the stdio bridge.
  let stdoutError: unknown
  const watchStdout = (): void => {
    process.stdout.removeAllListeners('error')
    process.stdout.on('error', error => {
      if (!isClosedPipe(error)) stdoutError ??= error
    })
  }
  watchStdout()
  try {
    const args = hoistGlobalFlags(argv, leadingFlags)
    const selected = selectCommands(args)
    await loadCommands(selected ?? commandNames)
    // The command parser has added a listener that throws.
    watchStdout()
    const pjson = selected === null ? files.pjson : withoutPlugins(files.pjson)
    await run(args, { root: fileURLToPath(files.root), pjson })
  } catch (error) {
    failure = describeFailure(error, wantsJson(argv), commandNames)
  }
  await written(process.stdout, failure.stdout)
  if (stdoutError !== undefined) {
    const { exitCode, stderr } = describeFailure(cannotWriteStdout(stdoutError), false)
    const said = failure.stderr.includes(stderr) ? '' : stderr
    failure = { ...failure, exitCode: failure.exitCode || exitCode, stderr: failure.stderr + said }
  }
  // A stderr that nobody reads must not keep the program from ending.
  await Promise.race([written(process.stderr, failure.stderr), setTimeout(stderrWaitMs)])
  return failure.exitCode
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
