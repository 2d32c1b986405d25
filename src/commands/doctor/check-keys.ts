import { keyVariable } from '../../lib/auth/api-key-config.ts'
import { readKeysFile } from '../../lib/auth/keys-file.ts'
import { keysPath } from '../../lib/config/paths.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { decideMode } from '../auth-mode.ts'
import type { Finding } from './finding.ts'

/** Reports whether a server without `--auth` requires a key, or refuses to start without one. */
export async function checkKeys(env: NodeJS.ProcessEnv): Promise<Finding> {
  const check = 'keys'
  try {
    const keysFile = keysPath(env)
    const named = await readKeysFile(keysFile)
    const source = env[keyVariable] ? keyVariable : null
    const mode = decideMode(undefined, { source, keysFile, named }, Date.now())
    if (!mode.ok) throw mode.failure
    const summary =
      mode.value === 'none'
        ? 'servers start without authentication: no key is configured'
        : `servers require a key (${source ?? keysFile})`
    return { check, status: 'ok', summary }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { message, hint = '' } = error
    return { check, status: 'warn', summary: `serve does not start: ${message}`, hint }
  }
}
