import { keyVariable } from '../../lib/auth/api-key-config.ts'
import { readAccountKeys } from '../../lib/config/account-keys.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { decideMode } from '../auth-mode.ts'
import type { Finding } from './finding.ts'

/** Reports whether a server without `--auth` requires a key, or refuses to start without one. */
export async function checkKeys(registryDir: string, env: NodeJS.ProcessEnv): Promise<Finding> {
  const check = 'keys'
  try {
    const { path, keys: named, lostBy, movedFrom } = await readAccountKeys(registryDir, env)
    const source = env[keyVariable] ? keyVariable : null
    const mode = decideMode(undefined, { source, keysFile: path, named, lostBy }, Date.now())
    if (!mode.ok) throw mode.failure
    const summary =
      mode.value === 'none'
        ? 'servers start without authentication: no key is configured'
        : `servers require a key (${source ?? movedFrom[0]?.file ?? path})`
    return { check, status: 'ok', summary }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { message, hint = '' } = error
    return { check, status: 'warn', summary: `serve does not start: ${message}`, hint }
  }
}
