import type { Finding } from './finding.ts'

/** What each variable changes; the names alone are ever shown. */
const variables: Readonly<Record<string, string>> = {
  SERVICE_MCP_API_KEY: 'serve and gateway ask clients for it',
  SERVICE_HOST_TOKEN: 'applications must present it',
  SERVICE_HOST_URL: 'adapters connect there, whatever runs here',
  SERVICE_REGISTRY_DIR: 'names the registry folder',
  SERVICE_REGISTRY: 'names the account registry',
  SERVICE_TOKEN: 'goes before the saved login',
  SERVICE_TOKEN_FILE: 'goes before the saved login',
  SERVICE_TIMEOUT: 'bounds requests to the account registry',
}

/** Which variables of ours are set; one that is empty counts as absent, which surprises. */
export function checkEnvironment(env: Readonly<Record<string, string | undefined>>): Finding {
  const names = Object.keys(variables).filter(name => env[name] !== undefined)
  const empty = names.filter(name => env[name] === '')
  const details = names
    .filter(name => env[name] !== '')
    .map(name => `${name} is set: ${variables[name] ?? ''}`)
  if (empty.length > 0) {
    return {
      check: 'environment',
      status: 'warn',
      summary: `${empty.join(', ')}: set to nothing, which counts as not set`,
      details,
      hint: 'unset it, or see where its value should have come from',
    }
  }
  const summary =
    details.length === 0 ? 'no variable of service-cli is set' : 'variables of service-cli are set'
  return { check: 'environment', status: 'ok', summary, details }
}
