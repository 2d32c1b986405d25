import type { Interfaces } from '@oclif/core'
import { run } from '@oclif/core/run'
import { settings } from '@oclif/core/settings'
import { userInfo } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
// oclif's command class, which this loads, adds a listener to stdout that throws: replaced below.
import './lib/cli/base-command.ts'
import { failureText, cannotWriteStdout, isClosedPipe } from './lib/cli/output.ts'
import { homeFolder } from './lib/config/paths.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
// oclif would else run plugins that a folder of data names.
const defaults: Interfaces.Options = { root, userPlugins: false, devPlugins: false }

/** The whole program: arguments in, exit code out. Never rejects. */
export async function main(argv: string[], more: Partial<Interfaces.Options> = {}): Promise<void> {
  process.exit(await perform(argv, { ...defaults, ...more }))
}

/** Runs the command that the arguments name and returns the exit code. Never rejects. */
export async function perform(argv: string[], options: Interfaces.LoadOptions): Promise<number> {
  // Otherwise oclif looks for TypeScript runners.
  settings.enableAutoTranspile = false
  try {
    userInfo()
  } catch {
    // oclif asks for these; the system does not know them, as in `docker run -u 1234`.
    process.env.SHELL ??= '/bin/sh'
    process.env.HOME ??= ''
  }
  let failure: any
  let broken: Error | undefined
  const keepBroken = (error: Error): void => void (isClosedPipe(error) || (broken ??= error))
  process.stdout.removeAllListeners('error').on('error', keepBroken)
  process.stderr.removeAllListeners('error').on('error', () => {})
  process.exitCode = undefined
  const args = hoistGlobalFlags(argv)
  const json = args.includes('--json')
  try {
    // Without a home, oclif would write the completion below the shared temporary folder.
    if (args[0] === 'autocomplete') homeFolder()
    await run(args, options)
  } catch (error) {
    failure = error
    process.exitCode = failure?.oclif?.exit ?? 1
    const { stdout, stderr } = process
    const isJson = json && broken === undefined
    // A command that only sets its exit code has printed why.
    if (failure?.code !== 'EEXIT') (isJson ? stdout : stderr).write(failureText(error, isJson))
  }
  const written = (stream: NodeJS.WriteStream) =>
    new Promise(resolve => void stream.write('', resolve))
  await written(process.stdout)
  if (broken !== undefined && failure?.cause !== broken) {
    process.stderr.write(failureText(cannotWriteStdout(broken), false))
    process.exitCode ||= 1
  }
  // A stderr that is never read must not keep the program from ending.
  await Promise.race([written(process.stderr), setTimeout(1000)])
  return Number(process.exitCode ?? 0)
}

/** `[globals] command [rest]` → `command [globals] [rest]`: to oclif the first word is the command. */
function hoistGlobalFlags(argv: string[]): string[] {
  let end = 0
  for (let word = argv[end]; word !== undefined; word = argv[end]) {
    if (!/^(?:--json|--quiet|-q|--token(?:=.*)?)$/s.test(word)) break
    end += word === '--token' ? 2 : 1
  }
  const rest = argv.slice(end)
  const flag = rest.findIndex(word => word.startsWith('-'))
  const words = flag === -1 ? rest : rest.slice(0, flag)
  return [...words, ...argv.slice(0, end), ...rest.slice(words.length)]
}
