import { usage } from '../../lib/util/errors.ts'
import { readRegistryDir } from '../server-settings.ts'

/** The flags of `instances` as the parser returns them. */
interface InstancesFlags {
  'dcc-type'?: string
  all: boolean
  watch: boolean
  'registry-dir'?: string
  json: boolean
  quiet: boolean
}

export interface InstancesSettings {
  /** Undefined: the default in the temp folder. */
  readonly registryDir: string | undefined
  readonly dccType: string | undefined
  readonly all: boolean
  readonly watch: boolean
  readonly json: boolean
  readonly quiet: boolean
}

/** Throws `usage_invalid` naming the flag. */
export function readInstancesSettings(
  flags: InstancesFlags,
  env: NodeJS.ProcessEnv,
): InstancesSettings {
  const { all, watch, json, quiet } = flags
  return {
    registryDir: readRegistryDir(flags, env),
    dccType: readType(flags['dcc-type']),
    all,
    watch,
    json,
    quiet,
  }
}

function readType(value: string | undefined): string | undefined {
  if (value === '') throw usage('--dcc-type is empty', 'a variable in your shell may be unset')
  return value
}
