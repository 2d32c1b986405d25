import { type ErrorCode, messageOf, ServiceError } from '../../lib/util/errors.ts'
import type { Finding } from './finding.ts'
import { userAgent } from '../../lib/util/version.ts'
import { silentLogger } from '../../lib/util/logger.ts'
import { createClientContext, type McpSession } from '../../lib/mcp/client/context.ts'
import { defaultMcpClientLimits } from '../../lib/mcp/client/limits.ts'
import { openMcp } from '../../lib/mcp/client/open.ts'
import { Secret } from '../../lib/util/secret.ts'
import { systemTimer } from '../../lib/util/time.ts'

const scene = 'scene://current'
const timeoutMs = 5000

/**
 * The whole way of one change, in a server of this process that is gone afterwards: from the scene
 * that is set to the client that is told. `start` makes it.
 */
export async function checkOwnPush(
  start: () => Promise<ThrowAwayServer>,
  withinMs = timeoutMs,
): Promise<Finding> {
  const check = 'push'
  try {
    const server = await start()
    try {
      const { url } = server
      const session = await openPushSession({ url, uri: scene, apiKey: null, timeoutMs: withinMs })
      try {
        const startedMs = performance.now()
        server.setScene({ doctor: 'was here' })
        await session.updated
        const summary = `push works: a change reached a client in ${msSince(startedMs)} ms`
        return { check, status: 'ok', summary }
      } finally {
        await session.close()
      }
    } finally {
      await server.stop()
    }
  } catch (error) {
    const reason = messageOf(error)
    return {
      check,
      status: 'fail',
      summary: `push does not work on this machine: ${reason}`,
      hint: 'see whether a firewall or another program keeps connections to 127.0.0.1 from getting through',
    }
  }
}

export interface ThrowAwayServer {
  /** Ends in `/mcp`. */
  readonly url: string
  setScene(scene: object): void
  stop(): Promise<void>
}

/** A running instance, as its record tells of it. */
interface LiveInstance {
  readonly shortId: string
  readonly name: string
  readonly url: string
  /** Its address is one of this machine: no other is asked. */
  readonly loopback: boolean
}

/** Does it answer, open a session and take a subscription? Its state is left as it is. */
export async function checkInstance(
  { shortId, name, url, loopback }: LiveInstance,
  apiKey: string | null,
): Promise<Finding> {
  const check = `instance_${shortId}`
  const what = `${name} (${shortId})`
  if (!loopback) {
    return {
      check,
      status: 'warn',
      summary: `${what} names an address of another machine: it is not asked`,
      hint: 'serve was started with --public-url; try that address with a client',
    }
  }
  try {
    const readyMs = await timeReady(url)
    const answer = `${what} answers in ${readyMs} ms`
    const works = await trySubscription(url, apiKey)
    if (works) {
      return { check, status: 'ok', summary: `${answer}, sessions and subscriptions work` }
    }
    if (apiKey !== null) {
      const hint = 'set it to the key of this server; several can be made: service-cli keys create'
      const refused = `${answer}, and does not take the key in SERVICE_MCP_API_KEY`
      return { check, status: 'warn', summary: refused, hint }
    }
    const hint = 'set SERVICE_MCP_API_KEY to its key to try a session, too'
    return { check, status: 'ok', summary: `${answer}, and asks for a key`, hint }
  } catch (error) {
    const reason = messageOf(error)
    return {
      check,
      status: 'fail',
      summary: `${what} does not serve: ${reason}`,
      hint: 'its log may say why; stop it and start it again',
    }
  }
}

async function timeReady(url: string): Promise<number> {
  const startedMs = performance.now()
  const headers = { 'user-agent': userAgent }
  const init = { signal: AbortSignal.timeout(timeoutMs), redirect: 'error' as const, headers }
  const answer = await fetch(new URL('/readyz', url), init).catch(error => {
    const late = error instanceof Error && error.name === 'TimeoutError'
    throw late
      ? new ServiceError('net_timeout', `no answer within ${timeoutMs} ms`)
      : new ServiceError('network_failed', 'it cannot be reached')
  })
  await answer.body?.cancel()
  if (!answer.ok) {
    throw new ServiceError('network_failed', `it is not ready (HTTP ${answer.status})`)
  }
  return msSince(startedMs)
}

function msSince(startedMs: number): number {
  return Math.round((performance.now() - startedMs) * 10) / 10
}

/** Of whoever asks for a key; the last when too many wrong ones were sent to it. */
const refusals: readonly ErrorCode[] = ['auth_required', 'auth_refused', 'rate_limited']

/** False: it asks for a key that is not known here. */
async function trySubscription(url: string, apiKey: string | null): Promise<boolean> {
  for (const key of apiKey === null ? [null] : [null, apiKey]) {
    try {
      const session = await openPushSession({ url, uri: scene, apiKey: key, timeoutMs })
      await session.close()
      return true
    } catch (error) {
      if (!(error instanceof ServiceError) || !refusals.includes(error.code)) throw error
    }
  }
  return false
}

/** A client that is told of changes of one resource, as an AI client is. */
interface PushSession {
  /** Settles when the server tells of a change. */
  readonly updated: Promise<void>
  close(): Promise<void>
}

interface PushSessionOptions {
  /** Ends in `/mcp`; of this machine, so that no proxy is asked. */
  readonly url: string
  readonly uri: string
  readonly apiKey: string | null
  /** For everything, from the first request to the update. */
  readonly timeoutMs: number
}

/** Resolves when the subscription stands. Rejects with `ServiceError`. */
async function openPushSession(options: PushSessionOptions): Promise<PushSession> {
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
  // Awaited later; without this, an earlier failure would leave the rejection unhandled.
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
