import type { Interfaces } from '@oclif/core'
import { type Output, processOutput, warningsTo } from '../../lib/cli/output.ts'
import { readOwnerToken } from '../../lib/instances/state-directory.ts'
import { HttpLink } from '../../lib/mcp/bridge/http-link.ts'
import type { McpServer } from '../../lib/mcp/client/call.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { isLoopback } from '../../lib/util/net.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { endpointUrl, findEndpoint } from '../find-endpoint.ts'
import type { endpointFlags } from '../endpoint-flags.ts'

/** The flags of a command that talks to a server, as the parser returns them. */
export type ClientFlags = Partial<Interfaces.InferredFlags<typeof endpointFlags>> & {
  json: boolean
  quiet: boolean
}

/**
 * Finds the server, runs `use` and closes the connections. `find` returns the server, or after a
 * loss its next run; it rejects with `network_failed`. Throws the errors of `findEndpoint`.
 */
export async function withClient<Value>(
  flags: ClientFlags,
  use: (find: () => Promise<McpServer>, output: Output) => Promise<Value>,
): Promise<Value> {
  const { url, instance, 'dcc-type': dccType } = flags
  if (url !== undefined) endpointUrl(url)
  const output = processOutput(flags)
  const { env } = process
  // The parser ensures that at most one of the flags is given.
  const { locate, key } = await findEndpoint(url ?? instance ?? dccType, flags, env, {
    log: warningsTo(output),
    naming: '--instance ID',
  })
  // Every run of a server has another one.
  let ownerToken: Secret | null = null
  const link = new HttpLink({ key: key ?? (() => ownerToken), env })
  const find = async (): Promise<McpServer> => {
    const target = await locate()
    if (!target.ok) throw new ServiceError('network_failed', target.failure)
    const { url, ownerFile } = target.value
    // Servers accept it from this machine alone.
    const isOwn = ownerFile !== undefined && isLoopback(url.hostname)
    ownerToken = isOwn ? await readOwnerToken(ownerFile) : null
    return { url, link }
  }
  try {
    return await use(find, output)
  } finally {
    link.close()
  }
}

/** The same for a command that asks the current run of the server alone. */
export function withServer<Value>(
  flags: ClientFlags,
  use: (server: McpServer, output: Output) => Promise<Value>,
): Promise<Value> {
  return withClient(flags, async (find, output) => use(await find(), output))
}
