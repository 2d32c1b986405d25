import { usage } from '../../lib/util/errors.ts'
import { readRegistryDir } from '../server-settings.ts'

/** The flags of `instances` as the parser returns them. */
interface InstancesFlags {
  'dcc-type'?: string
  status?: string
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
  /** A word; whether it is a status is known to the gateway alone. */
  readonly status: string | undefined
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
    dccType: word('dcc-type', flags['dcc-type']),
    status: word('status', flags.status),
    all,
    watch,
    json,
    quiet,
  }
}

function word(flag: string, value: string | undefined): string | undefined {
  if (value === '') throw usage(`--${flag} is empty`, 'a variable in your shell may be unset')
  return value
}
