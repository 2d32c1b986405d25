import { ApiKeyConfig } from '../lib/auth/api-key-config.ts'
import { checkSecretText, readSecretFile } from '../lib/secret-file.ts'

/** The file before the variable; a key that is configured but unusable is an error, not "no key". */
export async function readApiKey(
  file: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  if (file !== undefined) return readSecretFile(file, '--api-key-file')
  const config = new ApiKeyConfig()
  const key = config.resolve(env)
  return key === null ? null : checkSecretText(key, config.envVar)
}
