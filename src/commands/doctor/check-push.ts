import { type ErrorCode, messageOf, ServiceError } from '../../lib/util/errors.ts'
import type { Finding } from './finding.ts'
import { isJsonObject, parseJson } from '../../lib/util/json.ts'
import { userAgent } from '../../lib/util/version.ts'
import { silentLogger } from '../../lib/util/logger.ts'
import { createClientContext, type McpSession } from '../../lib/mcp/client/context.ts'
import { defaultMcpClientLimits } from '../../lib/mcp/client/limits.ts'
import { openMcp } from '../../lib/mcp/client/open.ts'
import { readResource } from '../../lib/mcp/client/resources.ts'

import { Secret } from '../../lib/util/secret.ts'
import { systemTimer } from '../../lib/util/time.ts'

const scene = 'scene://current'
const timeoutMs = 5000

/**
 * Tests push in a temporary server of this process, from setting a scene to the update at a client.
 * `start` creates the server.
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
      hint: 'check whether a firewall or another program blocks connections to 127.0.0.1',
    }
  }
}

export interface ThrowAwayServer {
  /** Ends in `/mcp`. */
  readonly url: string
  setScene(scene: object): void
  stop(): Promise<void>
}

/** A running instance, as described by its record. */
interface LiveInstance {
  readonly shortId: string
  readonly name: string
  readonly url: string
  /** The address is on this machine; others are not tested. */
  readonly loopback: boolean
  /** Used when no key is given. */
  readonly ownerToken?: Secret | null
}

/**
 * Checks that an instance answers, accepts a session and a subscription, and has the scene of its
 * connected application. Changes nothing.
 */
export async function checkInstance(
  { shortId, name, url, loopback, ownerToken = null }: LiveInstance,
  apiKey: string | null,
  withinMs = timeoutMs,
): Promise<Finding> {
  const check = `instance_${shortId}`
  const what = `the server of ${name} (${shortId})`
  if (!loopback) {
    return {
      check,
      status: 'warn',
      summary: `${what} has an address of another machine: not tested`,
      hint: 'serve was started with --public-url; try that address with a client',
    }
  }
  try {
    const readyMs = await timeReady(url)
    const answer = `${what} answers in ${readyMs} ms`
    const trial = await trySession(url, apiKey ?? ownerToken?.reveal() ?? null, withinMs)
    if (trial !== 'refused') {
      const summary = `${answer}, sessions and subscriptions work`
      if (trial === 'works') return { check, status: 'ok', summary }
      const unshared = `${summary}, but its application shares no scene`
      const hint =
        'share it in the application; in Blender: "Scene and document" in the preferences of the add-on'
      return { check, status: 'warn', summary: unshared, hint }
    }
    if (apiKey !== null) {
      const hint = 'set it to a key of this server; service-cli keys create makes one'
      const refused = `${answer}, but refuses the key in SERVICE_MCP_API_KEY`
      return { check, status: 'warn', summary: refused, hint }
    }
    const hint = 'set SERVICE_MCP_API_KEY to one to test a session too'
    return { check, status: 'ok', summary: `${answer} and requires a key or token`, hint }
  } catch (error) {
    const reason = messageOf(error)
    return {
      check,
      status: 'fail',
      summary: `${what} does not serve: ${reason}`,
      hint: 'check its log, then restart it',
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

/** Errors of a server that requires a key or token; `rate_limited` after too many wrong keys. */
const refusals: readonly ErrorCode[] = ['auth_required', 'auth_refused', 'rate_limited']

/** `refused`: the server requires a key or token that this process does not have. */
async function trySession(
  url: string,
  apiKey: string | null,
  withinMs: number,
): Promise<'works' | 'no_scene' | 'refused'> {
  for (const key of apiKey === null ? [null] : [null, apiKey]) {
    try {
      const push = await openPushSession({ url, uri: scene, apiKey: key, timeoutMs: withinMs })
      try {
        return (await lacksScene(push)) ? 'no_scene' : 'works'
      } finally {
        await push.close()
      }
    } catch (error) {
      if (!(error instanceof ServiceError) || !refusals.includes(error.code)) throw error
    }
  }
  return 'refused'
}

/** Returns whether an application is connected, and clients find no scene. */
async function lacksScene({ session, signal }: PushSession): Promise<boolean> {
  const { contents } = await readResource(session, `${scene}?view=summary`, signal).catch(error => {
    throw signal.aborted ? tooLate('the scene did not come in time') : error
  })
  const [content] = contents
  if (content?.kind !== 'text') return false
  const read = parseJson(content.text, 64)
  const facts = content.meta?.['service-cli/scene']
  const application = isJsonObject(facts) ? facts.application : null
  const isConnected = isJsonObject(application) && application.connected === true
  if (!isConnected || !read.ok || !isJsonObject(read.value)) return false
  return read.value.status === 'no_snapshot'
}

/** A client that is subscribed to one resource. */
interface PushSession {
  readonly session: McpSession
  /** Aborts when the time is over. */
  readonly signal: AbortSignal
  /** Settles with the first update. */
  readonly updated: Promise<void>
  close(): Promise<void>
}

interface PushSessionOptions {
  /** Ends in `/mcp`; on this machine, so that no proxy is used. */
  readonly url: string
  readonly uri: string
  readonly apiKey: string | null
  /** From the first request to the update. */
  readonly timeoutMs: number
}

/** Resolves when subscribed. Rejects with `ServiceError`. */
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
    return { session, signal, updated, close }
  } catch (error) {
    await close()
    throw signal.aborted ? tooLate(`no answer within ${timeoutMs} ms`) : error
  }
}

function tooLate(message: string): ServiceError {
  return new ServiceError('net_timeout', message)
}
