import { createClientContext, type McpSession } from '../../lib/mcp/client/context.ts'
import { defaultMcpClientLimits } from '../../lib/mcp/client/limits.ts'
import { openMcp } from '../../lib/mcp/client/open.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { silentLogger } from '../../lib/util/logger.ts'
import { Secret } from '../../lib/util/secret.ts'
import { systemTimer } from '../../lib/util/time.ts'
import type { Finding } from './finding.ts'

export const sceneUri = 'scene://current'
export const timeoutMs = 5000

/**
 * Tests push in a server of this process on a free port, which stores nothing: from setting a scene
 * to the update at a client.
 */
export async function checkPush(): Promise<Finding> {
  const { McpHttpServer } = await import('../../server/mcp/mcp-http-server.ts')
  const server = new McpHttpServer()
  try {
    const { url } = await server.start()
    const session = await openPushSession(url, null)
    const startedMs = performance.now()
    server.resources().setScene({ doctor: 'was here' })
    await session.updated
    const ms = Math.round((performance.now() - startedMs) * 10) / 10
    await session.close()
    const summary = `push works: a change reached a client in ${ms} ms`
    return { check: 'push', status: 'ok', summary }
  } catch (error) {
    return {
      check: 'push',
      status: 'fail',
      summary: `push does not work on this machine: ${messageOf(error)}`,
      hint: 'check whether a firewall or another program blocks connections to 127.0.0.1',
    }
  } finally {
    await server.stop()
  }
}

/** A client that is subscribed to the scene. */
export interface PushSession {
  readonly session: McpSession
  /** Aborts when the time is over. */
  readonly signal: AbortSignal
  /** Settles with the first update. */
  readonly updated: Promise<void>
  close(): Promise<void>
}

/** Resolves when subscribed. `url` is of this machine. Rejects with `ServiceError`. */
export async function openPushSession(url: string, apiKey: string | null): Promise<PushSession> {
  const signal = AbortSignal.timeout(timeoutMs)
  const context = createClientContext({
    key: apiKey === null ? null : new Secret(apiKey),
    env: {},
    limits: defaultMcpClientLimits,
    timer: systemTimer,
    log: silentLogger,
  })
  const { promise: updated, resolve, reject } = Promise.withResolvers<void>()
  // Awaited later; without this, an earlier failure would leave the rejection unhandled.
  updated.catch(() => {})
  const late = (message: string) => new ServiceError('net_timeout', message)
  signal.addEventListener('abort', () => reject(late('no update came in time')), { once: true })
  let session: McpSession | null = null
  const close = async () => {
    await session?.close()
    context.link.close()
  }
  try {
    session = await openMcp(context, new URL(url), signal)
    await session.subscribe(sceneUri, resolve, signal)
    return { session, signal, updated, close }
  } catch (error) {
    await close()
    throw signal.aborted ? late(`no answer within ${timeoutMs} ms`) : error
  }
}
