import type { CatalogState } from '../../../src/server/gateway/catalog/catalog-resources.ts'
import { EventRing } from '../../../src/server/gateway/event-ring.ts'
import { createGatewayResources } from '../../../src/server/gateway/gateway-resources.ts'
import type { InstanceDirectory } from '../../../src/server/gateway/instance-directory.ts'
import { MemoryDirectory } from '../../helpers/memory-directory.ts'
import { ManualTime } from '../resources/manual-time.ts'
import { type Bounds, boundsWith } from '../../helpers/bounds.ts'

export const id = 'a1b2c3d4-0000-4000-8000-000000000001'
export const other = 'ffff0000-0000-4000-8000-000000000002'

/** A catalog that a test fills by hand. */
class MemoryCatalog {
  readonly source = 'file'
  state: CatalogState = { version: 1, entries: [], problem: null }
  #changed: ((before: CatalogState, now: CatalogState) => void) | null = null

  refresh(): Promise<CatalogState> {
    return Promise.resolve(this.state)
  }

  follow(changed: (before: CatalogState, now: CatalogState) => void): () => void {
    this.#changed = changed
    return () => {
      this.#changed = null
    }
  }

  get isFollowed(): boolean {
    return this.#changed !== null
  }

  set(...entries: CatalogState['entries']): void {
    const before = this.state
    this.state = { version: before.version + 1, entries, problem: null }
    this.#changed?.(before, this.state)
  }
}

/** The resources over directory, catalog and clock of a test. */
export function gateway(limits: Partial<Bounds> = {}) {
  const directory = new MemoryDirectory()
  return { directory, ...gatewayOver(directory, limits) }
}

function gatewayOver(directory: InstanceDirectory, limits: Partial<Bounds> = {}) {
  const time = new ManualTime()
  const catalog = new MemoryCatalog()
  const all = boundsWith(limits)
  const ring = new EventRing(time)
  const activity = { pendingCalls: 3, tools: 0, sessions: 2, streams: 1, subscriptions: 5 }
  const resources = createGatewayResources({
    directory,
    ring,
    catalog,
    limits: all,
    clock: time,
    timer: time,
    self: () => ({
      host: '127.0.0.1',
      port: 9765,
      mcpUrl: 'http://127.0.0.1:9765/mcp',
      startedMs: time.now() - 61_000,
    }),
    activity: () => activity,
  })
  const updates: string[] = []
  const lists = { count: 0 }
  resources.listen({ resourceUpdated: uri => updates.push(uri), listChanged: () => lists.count++ })
  return { time, catalog, ring, resources, updates, lists, activity }
}

/** The JSON payload of a resource. */
export async function json(
  { resources }: ReturnType<typeof gatewayOver>,
  uri: string,
): Promise<any> {
  const [content] = await resources.read(uri)
  if (content === undefined || !('text' in content)) throw new Error('no text')
  return JSON.parse(content.text)
}
