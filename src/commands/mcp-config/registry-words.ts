import type { Place } from '../../lib/mcp/settings/client.ts'
import { selectRegistryDir } from '../../lib/util/registry-path.ts'

/** What the folder for temporary files, and so the default one, goes by. */
const variables = ['TMPDIR', 'TMP', 'TEMP']

/**
 * Where `service-cli connect` looks for instances, said wherever it could look elsewhere: clients
 * pass on hardly a variable, and macOS sets TMPDIR for every account.
 */
export function registryWords(registryDir: string, env: Place['env']): string[] {
  const isDefault = registryDir === selectRegistryDir(undefined, {})
  const isMoved = variables.some(name => Boolean(env[name]))
  return isDefault && !isMoved ? [] : ['--registry-dir', registryDir]
}
