import { HttpLink } from '../../lib/mcp/bridge/http-link.ts'
import { listen, type McpServer } from '../../lib/mcp/client/call.ts'
import { messageOf } from '../../lib/util/errors.ts'
import { Secret } from '../../lib/util/secret.ts'
import { type Finding, finding } from './finding.ts'

export const sceneUri = 'scene://current'
export const timeoutMs = 5000

/**
 * Tests push in a server of this process on a free port, which stores nothing: from setting a scene
 * to the update at a client.
 */
export async function checkPush(): Promise<Finding> {
  const check = 'push'
  const { McpHttpServer } = await import('../../server/mcp/mcp-http-server.ts')
  const server = new McpHttpServer()
  try {
    const { url } = await server.start()
    const ms = await withSubscription(url, null, async ({ updated }) => {
      const startedMs = performance.now()
      server.resources().setScene({ doctor: 'was here' })
      await updated
      return Math.round((performance.now() - startedMs) * 10) / 10
    })
    return finding(check, 'ok', `push works: a change reached a client in ${ms} ms`)
  } catch (error) {
    const summary = `push does not work on this machine: ${messageOf(error)}`
    const hint = 'check whether a firewall or another program blocks connections to 127.0.0.1'
    return finding(check, 'fail', summary, hint)
  } finally {
    await server.stop()
  }
}

/** A client that is subscribed to the scene. */
interface Subscription {
  readonly server: McpServer
  /** Resolves with the first update. */
  readonly updated: Promise<void>
  /** Aborts when the time is over. */
  readonly signal: AbortSignal
}

/** Subscribes to the scene and runs `use`. `url` is of this machine. */
export async function withSubscription<Value>(
  url: string,
  apiKey: string | null,
  use: (subscription: Subscription) => Promise<Value>,
): Promise<Value> {
  const signal = AbortSignal.timeout(timeoutMs)
  const link = new HttpLink({ key: apiKey === null ? null : new Secret(apiKey), env: {} })
  const server = { url: new URL(url), link }
  const [began, update] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const listening = listen(server, sceneUri, {
    signal,
    begun: async () => began.resolve(),
    updated: update.resolve,
  })
  const used = began.promise.then(() => use({ server, updated: update.promise, signal }))
  try {
    return await Promise.race([used, listening])
  } catch (error) {
    throw signal.aborted ? new Error(`nothing came within ${timeoutMs} ms`) : error
  } finally {
    link.close()
  }
}
