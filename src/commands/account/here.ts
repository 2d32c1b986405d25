import { processOutput } from '../../lib/cli/output.ts'
import type { PromptPlace } from '../../lib/cli/prompt.ts'
import { type AccountContext, type AccountFlags, openContext } from './context.ts'

/** The context of a command that speaks on the streams of this process. */
export function openHere(flags: AccountFlags, env: NodeJS.ProcessEnv): Promise<AccountContext> {
  const { json = false, quiet = false } = flags
  return openContext(flags, env, processOutput({ json, quiet }))
}

/** Whether somebody can be asked on them. */
export function promptPlace(flags: AccountFlags): PromptPlace {
  return {
    stdinIsTTY: process.stdin.isTTY === true,
    stderrIsTTY: process.stderr.isTTY === true,
    noInput: flags['no-input'] === true,
  }
}
