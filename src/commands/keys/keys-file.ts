import * as Flags from '@oclif/core/flags'
import { processOutput } from '../../lib/cli/output.ts'
import { requirePrompt } from '../../lib/cli/prompt.ts'
import { keysPath } from '../../lib/config/paths.ts'
import { expiryText } from '../../lib/util/amounts.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { authFlags } from '../auth-flags.ts'
import { checkPath } from '../path-flags.ts'

type ClientKey = import('../../lib/auth/client-keys.ts').ClientKey

/** The flags of all commands about keys. */
export const keysFlags = { 'keys-file': authFlags['keys-file'] }

/** Of a command that asks for a confirmation. */
export const yesFlag = Flags.boolean({ char: 'y', description: 'do not ask for a confirmation' })

/** The keys file, what it has now, and what changes it. Help loads none of that. */
export async function openKeys(flags: { 'keys-file'?: string; json: boolean; quiet: boolean }) {
  const keys = await import('../../lib/auth/client-keys.ts')
  const file = checkPath('keys-file', flags['keys-file']) ?? keysPath(process.env)
  const found = await keys.readClientKeys(file)
  return { ...keys, file, found, output: processOutput(flags) }
}

/** Asks on the terminal. Throws `cancelled` for no, `usage_invalid` where nothing can be asked. */
export async function confirm(consequence: string, question: string): Promise<void> {
  const prompt = requirePrompt('the confirmation', `${consequence}; if so, add --yes`)
  if (!(await prompt.askYes(`${consequence}. ${question}`)))
    throw new ServiceError('cancelled', 'nothing was changed')
}

export function expiryOf({ expires_at: at }: ClientKey): string {
  return at === undefined ? 'lasts until it is revoked' : expiryText(Date.parse(at), Date.now())
}

/** A key for `--json`, without its hash. */
export function keyJson({ name, scope, created_at, expires_at }: ClientKey): object {
  return { name, scope, created_at, expires_at: expires_at ?? null }
}
