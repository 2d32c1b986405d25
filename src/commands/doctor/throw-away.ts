import type { ThrowAwayServer } from './check-push.ts'

/** A server on a free port that keeps nothing on the disk and that nobody is told of. */
export async function startThrowAway(): Promise<ThrowAwayServer> {
  const { McpHttpServer } = await import('../../server/mcp/mcp-http-server.ts')
  const server = new McpHttpServer()
  const { url } = await server.start()
  return {
    url,
    setScene: scene => server.resources().setScene(scene),
    stop: () => server.stop(),
  }
}
