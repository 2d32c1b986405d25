import { run } from '@oclif/core'
import { settings } from '@oclif/core/settings'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandNames, loadCommands } from '../../src/commands/index.ts'
import { leadingFlags } from '../../src/lib/cli/account-flags.ts'
import { hoistGlobalFlags } from '../../src/lib/cli/argv.ts'
import { type Failure, describeFailure } from '../../src/lib/cli/failure.ts'
import { root } from './program.ts'

const pjson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
pjson.oclif.commands.target = './src/commands/index.ts'

/** How a command failed, as text and as JSON; null when it did not. */
export interface Failed {
  readonly text: Failure
  readonly json: Failure
}

/** Runs a command on the sources, without a process of its own; for what ends in an error. */
export async function failureOf(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Failed | null> {
  settings.enableAutoTranspile = false
  const before = process.env
  process.env = env
  try {
    await loadCommands(commandNames)
    await run(hoistGlobalFlags(argv, leadingFlags), { root, pjson })
    return null
  } catch (error) {
    return { text: describeFailure(error, false), json: describeFailure(error, true) }
  } finally {
    process.env = before
  }
}
