import { ServiceError, usage } from '../../lib/util/errors.ts'
import { readServeSettings, type ServeFlags, type ServeSettings } from '../serve-settings.ts'
import { refuseJson } from './refuse-json.ts'
import type { ServeStdioSettings } from './serve.ts'

/** Those that mean the same for a server that is joined. */
const shared = new Set([
  'stdio',
  'dcc-type',
  'registry-dir',
  'auth',
  'api-key-file',
  'keys-file',
  'log-level',
  'quiet',
  'json',
])

/**
 * The flags of `serve --stdio` as checked settings; `given` are the names of those that the user
 * wrote. Throws `usage_invalid` or `config_invalid`.
 */
export async function readServeStdioSettings(
  flags: ServeFlags & { json: boolean },
  given: string[],
  env: NodeJS.ProcessEnv,
): Promise<Omit<ServeStdioSettings, 'level'>> {
  refuseJson(flags.json, '--stdio')
  const serve = await readServeSettings(flags, env)
  assertKey(serve)
  const ownOnly = given.filter(name => !shared.has(name))
  return {
    // A client starts many of them; the usual port is for the one that a person starts.
    serve: given.includes('port') ? serve : { ...serve, port: 0 },
    dccType: given.includes('dcc-type') ? serve.dccType : undefined,
    ownOnly: [...new Set(ownOnly)].map(name => `--${name}`),
  }
}

/** The client speaks through this process, which therefore needs a key itself. */
function assertKey({ auth }: ServeSettings): void {
  if (auth?.mode === 'oauth') {
    throw usage('--auth oauth is not for --stdio: no user can log in there', 'use a key')
  }
  if (auth?.mode !== 'api-key' || auth.key !== undefined) return
  const what = `clients need a key by ${auth.keysFile}, and none is given here`
  throw new ServiceError('config_invalid', what, {
    hint: 'set SERVICE_MCP_API_KEY to one of them; service-cli keys create makes another',
  })
}
