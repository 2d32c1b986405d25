import { type ErrorCode, messageOf, ServiceError } from '../../lib/util/errors.ts'
import type { Finding } from './finding.ts'
import { isJsonObject, parseJson } from '../../lib/util/json.ts'
import { userAgent } from '../../lib/util/version.ts'
import { HttpLink } from '../../lib/mcp/bridge/http-link.ts'
import { listen, type McpServer } from '../../lib/mcp/client/call.ts'
import { readResource } from '../../lib/mcp/client/resources.ts'
import { Secret } from '../../lib/util/secret.ts'

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
      return await withSubscription({ url, apiKey: null, withinMs }, async ({ updates }) => {
        const startedMs = performance.now()
        server.setScene({ doctor: 'was here' })
        await updates.next()
        const summary = `push works: a change reached a client in ${msSince(startedMs)} ms`
        return { check, status: 'ok', summary }
      })
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
 * Checks that an instance answers, accepts a subscription, and has the scene of its connected
 * application. Changes nothing.
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
    const trial = await trySubscription(url, apiKey ?? ownerToken?.reveal() ?? null, withinMs)
    if (trial !== 'refused') {
      const summary = `${answer}, subscriptions work`
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
    const hint = 'set SERVICE_MCP_API_KEY to one to test a subscription, too'
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
async function trySubscription(
  url: string,
  apiKey: string | null,
  withinMs: number,
): Promise<'works' | 'no_scene' | 'refused'> {
  for (const key of apiKey === null ? [null] : [null, apiKey]) {
    try {
      return await withSubscription({ url, apiKey: key, withinMs }, async push => {
        return (await lacksScene(push)) ? 'no_scene' : 'works'
      })
    } catch (error) {
      if (!(error instanceof ServiceError) || !refusals.includes(error.code)) throw error
    }
  }
  return 'refused'
}

/** Returns whether an application is connected, and clients find no scene. */
async function lacksScene({ server, signal }: Subscription): Promise<boolean> {
  const { contents } = await readResource(server, `${scene}?view=summary`, signal)
  const [first] = contents
  if (typeof first?.content !== 'string') return false
  const read = parseJson(first.content, 64)
  const facts = first.meta['service-cli/scene']
  const application = isJsonObject(facts) ? facts.application : null
  const isConnected = isJsonObject(application) && application.connected === true
  if (!isConnected || !read.ok || !isJsonObject(read.value)) return false
  return read.value.status === 'no_snapshot'
}

/** A client that is subscribed to the scene. */
interface Subscription {
  readonly server: McpServer
  readonly updates: AsyncIterator<undefined>
  /** Aborts when the time is over. */
  readonly signal: AbortSignal
}

interface SubscriptionOptions {
  /** Ends in `/mcp`; on this machine, so that no proxy is used. */
  readonly url: string
  readonly apiKey: string | null
  /** For the subscription and `use`. */
  readonly withinMs: number
}

/** Subscribes to the scene and runs `use`. Rejects with `ServiceError`. */
async function withSubscription<Value>(
  { url, apiKey, withinMs }: SubscriptionOptions,
  use: (subscription: Subscription) => Promise<Value>,
): Promise<Value> {
  const signal = AbortSignal.timeout(withinMs)
  const link = new HttpLink({ key: apiKey === null ? null : new Secret(apiKey), env: {} })
  const server = { url: new URL(url), link }
  const updates = listen(server, scene, signal)
  try {
    await updates.next()
    return await use({ server, updates, signal })
  } catch (error) {
    throw signal.aborted
      ? new ServiceError('net_timeout', `nothing came within ${withinMs} ms`)
      : error
  } finally {
    await updates.return(undefined as never)
    link.close()
  }
}
