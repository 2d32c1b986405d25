import { randomUUID } from 'node:crypto'
import { McpHttpServer } from '../../src/server/mcp/mcp-http-server.ts'
import { type HostileInstance, joinAs, toldRecord } from './hostile-instance.ts'

/** A real server behind a real link of its own, whose record the test writes. */
export interface JoinedInstance {
  readonly id: string
  readonly server: McpHttpServer
  readonly link: HostileInstance['link']
  /** Tells its record anew. */
  tell(changes: object): void
  setScene(scene: object): void
  /** Says that it stops, and stops. */
  leave(): Promise<void>
}

interface JoinOptions {
  readonly gateway: string
  readonly token: string
  /** `visible_to` and whatever else differs. */
  readonly record?: object
  readonly id?: string
}

export async function joinInstance(options: JoinOptions): Promise<JoinedInstance> {
  const { gateway, token, id = randomUUID() } = options
  const instance = () => ({ id, dccType: 'maya', displayName: 'scripted', scene: null })
  const server = new McpHttpServer({ enableTools: true }, { instance })
  await server.start()
  const others = server.linkListener()
  let record = toldRecord(id, options.record)
  let write = (_line: string): void => {}
  const line = () => `${JSON.stringify(record)}\n`
  const accepted = Promise.withResolvers<void>()
  const { link } = await joinAs(gateway, token, (req, res) => {
    if (req.url === '/join/v1/record') {
      res.writeHead(200)
      write = text => void res.write(text)
      return write(line())
    }
    if (req.url !== '/join/v1/accepted') return others(req, res)
    res.writeHead(204).end()
    accepted.resolve()
  })
  void link.ended.then(({ reason }) => accepted.reject(new Error(reason)))
  await accepted.promise
  return {
    id,
    server,
    link,
    tell(changes) {
      record = { ...record, ...changes }
      write(line())
    },
    setScene: scene => void server.resources().setScene(scene),
    async leave() {
      link.close(1001, 'the instance stops')
      await link.ended
      await server.stop()
    },
  }
}
