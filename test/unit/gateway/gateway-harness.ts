import { Catalog } from '../../../src/server/gateway/catalog.ts'
import { EventRing } from '../../../src/server/gateway/event-ring.ts'
import { createGatewayResources } from '../../../src/server/gateway/gateway-resources.ts'
import { ClientTable } from '../../../src/server/mcp/client-table.ts'
import { serverDefaults } from '../../../src/server/http/limits.ts'
import { MemoryDirectory } from '../../helpers/instances.ts'
import { ManualTime } from '../resources/manual-time.ts'

export const id = 'a1b2c3d4-0000-4000-8000-000000000001'
export const other = 'ffff0000-0000-4000-8000-000000000002'

const catalog = await Catalog.open()

/** The resources over directory and clock of a test, with the bundled catalog. */
export function gateway() {
  const directory = new MemoryDirectory()
  const time = new ManualTime()
  const ring = new EventRing(time)
  const activity = { pendingCalls: 3, tools: 0, sessions: 2, streams: 1, subscriptions: 5 }
  const resources = createGatewayResources({
    directory,
    ring,
    catalog,
    clients: new ClientTable({ clock: time, timer: time }),
    limits: serverDefaults,
    timer: time,
    self: { host: '127.0.0.1', port: 9765, mcpUrl: 'http://127.0.0.1:9765/mcp' },
    activity: () => activity,
  })
  const updates: string[] = []
  const lists = { count: 0 }
  resources.listen({ resourceUpdated: uri => updates.push(uri), listChanged: () => lists.count++ })
  return { directory, time, ring, resources, updates, lists, activity }
}

/** The text of a resource. */
export async function textOf(
  { resources }: ReturnType<typeof gateway>,
  uri: string,
): Promise<string> {
  const [content] = await resources.read(uri)
  if (content === undefined || !('text' in content)) throw new Error('no text')
  return content.text
}

/** The JSON payload of a resource. */
export async function json(given: ReturnType<typeof gateway>, uri: string): Promise<any> {
  return JSON.parse(await textOf(given, uri))
}

/** What the ring has. */
export async function eventsOf(given: ReturnType<typeof gateway>): Promise<any[]> {
  const text = await textOf(given, 'resources://gateway/events')
  return text.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line)]))
}
