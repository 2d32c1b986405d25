/** The routing both official SDKs leave to the program: a session is a server and a transport. */
import { type IncomingMessage, type ServerResponse } from 'node:http'
import { sceneUri } from '../fixture.ts'
import { listenAndAnnounce } from './announce.ts'
import { isStateless } from './protocol.ts'

export interface SdkSession {
  readonly subscribed: Set<string>
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  sendUpdated(uri: string): Promise<void>
}

/** What answers the stateless transport, where the SDK has it. */
export interface SdkStateless {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  sendUpdated(uri: string): void
}

/** `open` makes a session that calls `opened` when the client has got its id. */
export function serveSessions(
  open: (opened: (id: string, session: SdkSession) => void) => Promise<SdkSession>,
  stateless?: SdkStateless,
): void {
  const sessions = new Map<string, SdkSession>()

  listenAndAnnounce((request, response) => {
    if (request.url === '/host/v1/scene') onScene(request, response)
    else if (stateless !== undefined && isStateless(request)) {
      void stateless.handle(request, response)
    } else void onMcp(request, response)
  })

  async function onMcp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id']
    const session =
      id === undefined
        ? await open((opened, made) => sessions.set(opened, made))
        : sessions.get(String(id))
    if (session === undefined) response.writeHead(404).end()
    else await session.handle(request, response)
  }

  function onScene(request: IncomingMessage, response: ServerResponse): void {
    request.resume()
    request.on('end', () => {
      for (const session of sessions.values()) {
        if (session.subscribed.has(sceneUri)) session.sendUpdated(sceneUri).catch(() => {})
      }
      stateless?.sendUpdated(sceneUri)
      const body = '{"ok":true}'
      response.writeHead(200, { 'Content-Length': body.length }).end(body)
    })
  }
}
