import * as Flags from '@oclif/core/flags'
import { resolve } from 'node:path'
import { selectStateDirectory } from '../lib/config/paths.ts'
import { usage } from '../lib/util/errors.ts'

export const registryDirFlag = {
  'registry-dir': Flags.string({
    description: 'state directory; overrides SERVICE_REGISTRY_DIR',
    helpValue: 'DIR',
  }),
}

/** Other programs use the paths of a record, in folders of their own: they are made absolute. */
export function checkPath(flag: string, value: string | undefined): string | undefined {
  if (value === '') throw usage(`--${flag} is empty`, 'a variable in your shell may be unset')
  return value === undefined ? undefined : resolve(value)
}

/** `--registry-dir`, else the variable, else the default. Throws `usage_invalid`. */
export function readStateDirectory(
  flags: { 'registry-dir'?: string },
  env: NodeJS.ProcessEnv,
): string {
  return selectStateDirectory(checkPath('registry-dir', flags['registry-dir']), env)
}
