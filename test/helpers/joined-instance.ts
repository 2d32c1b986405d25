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
  const named = { instance_id: id, dcc_type: 'maya', display_name: 'scripted', scene: null }
  const instance = () => named
  const server = new McpHttpServer({ enableTools: true }, { instance })
  await server.start()
  let record = toldRecord(id, options.record)
  const { link, accepted } = await joinAs(gateway, token, {
    id,
    record,
    listener: server.linkListener(),
  })
  await accepted
  return {
    id,
    server,
    link,
    tell(changes) {
      record = { ...record, ...changes }
      link.sendText(JSON.stringify(record))
    },
    setScene: scene => void server.resources().setScene(scene),
    async leave() {
      link.close(1001, 'the instance stops')
      await link.ended
      await server.stop()
    },
  }
}
