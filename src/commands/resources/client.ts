import { type Output, processOutput, warningsTo } from '../../lib/cli/output.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import {
  type ClientContext,
  createClientContext,
  type McpSession,
} from '../../lib/mcp/client/context.ts'
import { defaultMcpClientLimits, type McpClientLimits } from '../../lib/mcp/client/limits.ts'
import { openMcp } from '../../lib/mcp/client/open.ts'
import type { Locate } from '../../lib/mcp/bridge/context.ts'
import { systemTimer } from '../../lib/util/time.ts'
import { type EndpointFlags, findEndpoint } from '../find-endpoint.ts'

/** The flags of `endpoint-flags.ts` as the parser returns them, with the global ones. */
export interface ClientFlags extends EndpointFlags {
  url?: string
  instance?: string
  'dcc-type'?: string
  json: boolean
  quiet: boolean
}

/** The context of a command that reads from a server. */
export interface Client {
  readonly context: ClientContext
  readonly locate: Locate
  readonly output: Output
  readonly limits: McpClientLimits
  open(url: URL, signal: AbortSignal): Promise<McpSession>
}

/** Finds the server, runs `use` and closes the connections. Throws the errors of `findEndpoint`. */
export async function withClient<Value>(
  flags: ClientFlags,
  env: NodeJS.ProcessEnv,
  use: (client: Client) => Promise<Value>,
): Promise<Value> {
  const output = processOutput(flags)
  const limits = defaultMcpClientLimits
  const log = warningsTo(output)
  const naming = '--instance ID, or --dcc-type when only one has it'
  const word = readWord(flags)
  const { locate, key, ownerToken } = await findEndpoint(word, flags, env, { log, naming })
  const parts = { env, limits, timer: systemTimer, log }
  const context = createClientContext({ ...parts, key: key ?? ownerToken })
  try {
    const open = (url: URL, signal: AbortSignal) => openMcp(context, url, signal)
    return await use({ context, locate, output, limits, open })
  } finally {
    context.link.close()
  }
}

/** Opens a session with the current run of the server, runs `use` and closes the session. */
export function withSession<Value>(
  flags: ClientFlags,
  env: NodeJS.ProcessEnv,
  use: (session: McpSession, client: Client, signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  // Ctrl-C ends the program at once: there is nothing to undo.
  const { signal } = new AbortController()
  return withClient(flags, env, async client => {
    const place = await client.locate()
    if (!place.ok) throw new ServiceError('network_failed', place.failure)
    const session = await client.open(place.value.url, signal)
    try {
      return await use(session, client, signal)
    } finally {
      await session.close()
    }
  })
}

/** The parser ensures that at most one of the flags is given. */
function readWord(flags: ClientFlags): string | undefined {
  const { url, instance, 'dcc-type': dccType } = flags
  if (url !== undefined && !/^https?:\/\//i.test(url)) {
    throw usage(`--url ${url} is not an address`, 'example: http://127.0.0.1:8765/mcp')
  }
  return url ?? instance ?? dccType
}
