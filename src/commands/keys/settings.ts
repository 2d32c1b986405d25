import * as Flags from '@oclif/core/flags'
import { type TextWriter, processStdout } from '../../lib/cli/output.ts'
import { usage } from '../../lib/util/errors.ts'

/** The flags of all commands about keys. */
export const keysFlags = {
  'keys-file': Flags.string({
    description: 'file of the keys [default: keys.json beside the configuration]',
    helpValue: 'FILE',
  }),
}

export interface KeysFlags {
  readonly 'keys-file'?: string
  readonly json: boolean
  readonly quiet: boolean
}

/** The streams and the environment of this process. */
export function processPlace(): { stdout: TextWriter; stderr: TextWriter; env: NodeJS.ProcessEnv } {
  return { stdout: processStdout, stderr: process.stderr, env: process.env }
}

const unitMs: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
}
const maxLifeMs = 3650 * 86_400_000

/** `30d` in milliseconds. Throws `usage_invalid`. */
export function readLife(word: string): number {
  const [, count = '', unit = ''] = /^(\d{1,7})([mhdw])$/.exec(word) ?? []
  const lifeMs = Number(count) * (unitMs[unit] ?? 0)
  if (lifeMs > 0 && lifeMs <= maxLifeMs) return lifeMs
  throw usage(
    `--expires-in ${word} is not a time from 1 minute to 10 years`,
    'write a number and m, h, d or w, as in 30d',
  )
}
