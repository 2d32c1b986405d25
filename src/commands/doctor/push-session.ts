import { ServiceError } from '../../lib/util/errors.ts'
import { silentLogger } from '../../lib/util/logger.ts'
import { createClientContext } from '../../lib/mcp/client/context.ts'
import { defaultMcpClientLimits } from '../../lib/mcp/client/limits.ts'
import { openMcp } from '../../lib/mcp/client/open.ts'
import type { McpSession } from '../../lib/mcp/client/session.ts'
import { Secret } from '../../lib/util/secret.ts'
import { systemTimer } from '../../lib/util/timer.ts'

/** A client that is told of changes of one resource, as an AI client is. */
export interface PushSession {
  /** Settles when the server tells of a change. */
  readonly updated: Promise<void>
  close(): Promise<void>
}

export interface PushSessionOptions {
  /** Ends in `/mcp`; of this machine, so that no proxy is asked. */
  readonly url: string
  readonly uri: string
  readonly apiKey: string | null
  /** For everything, from the first request to the update. */
  readonly timeoutMs: number
}

/** Resolves when the subscription stands. Rejects with `ServiceError`. */
export async function openPushSession(options: PushSessionOptions): Promise<PushSession> {
  const { url, uri, apiKey, timeoutMs } = options
  const signal = AbortSignal.timeout(timeoutMs)
  const context = createClientContext({
    key: apiKey === null ? null : new Secret(apiKey),
    env: {},
    limits: defaultMcpClientLimits,
    timer: systemTimer,
    log: silentLogger,
  })
  const { promise: updated, resolve, reject } = Promise.withResolvers<void>()
  // Whoever waits hears of it; when something else failed first, nobody does.
  updated.catch(() => {})
  signal.addEventListener('abort', () => reject(tooLate('no update came in time')), { once: true })
  let session: McpSession | null = null
  const close = async () => {
    await session?.close()
    context.link.close()
  }
  try {
    session = await openMcp(context, new URL(url), signal)
    await session.subscribe(uri, resolve, signal)
    return { updated, close }
  } catch (error) {
    await close()
    throw signal.aborted ? tooLate(`no answer within ${timeoutMs} ms`) : error
  }
}

function tooLate(message: string): ServiceError {
  return new ServiceError('net_timeout', message)
}
