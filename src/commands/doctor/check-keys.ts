import { keyVariable } from '../../lib/auth/api-key-config.ts'
import { readClientKeys } from '../../lib/auth/client-keys.ts'
import { keysPath } from '../../lib/config/paths.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Finding } from './finding.ts'

/** Reports whether a server without `--auth` requires a key, or refuses to start. */
export async function checkKeys(env: NodeJS.ProcessEnv): Promise<Finding> {
  const check = 'keys'
  try {
    const keysFile = keysPath(env)
    const file = await readClientKeys(keysFile)
    const isRequired = file !== null && file.open !== true
    if (env[keyVariable] || (isRequired && file.keys.length > 0)) {
      const source = env[keyVariable] ? keyVariable : keysFile
      return { check, status: 'ok', summary: `servers require a key (${source})` }
    }
    if (isRequired) {
      const summary = `servers refuse every client: there is no key in ${keysFile}`
      const hint = 'make one with service-cli keys create, or run service-cli keys off'
      return { check, status: 'warn', summary, hint }
    }
    const summary = 'servers start without authentication: no key is configured'
    return { check, status: 'ok', summary }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { message, hint = '' } = error
    return { check, status: 'warn', summary: `serve does not start: ${message}`, hint }
  }
}
