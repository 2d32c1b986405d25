import type { Limits } from '../../../lib/config/limits.ts'
import { type Clock, systemClock, type Timer } from '../../../lib/util/time.ts'
import type { ServedResources } from '../../resources/schemes.ts'
import { liveAppUri } from '../../resources/live-app.ts'
import { sceneCurrentUri } from '../../resources/scene-listing.ts'
import type { SubscriptionHub } from '../subscriptions.ts'
import { listResourcesTool } from './list-resources.ts'
import { openNotesUri } from '../../notes/note.ts'
import type { Notes } from '../../notes/notes.ts'
import { lookTool } from './look.ts'
import { listNotesDefinition, noteTools } from './notes.ts'
import { querySceneTool } from './query-scene.ts'
import { readResourceTool } from './read-resource.ts'
import { sceneChangesTool } from './scene-changes.ts'
import type { Tool } from './tool.ts'
import { WaitForChange, type WaitParts } from './wait-for-change.ts'

export interface ToolParts {
  readonly registry: ServedResources
  readonly hub: SubscriptionHub
  readonly clock: Clock
  readonly timer: Timer
  readonly limits: Limits
  /** The open waits of all callers, who have one bound. */
  readonly waits?: WaitParts['waits']
  readonly objects?: WaitParts['objects']
}

/** The tools of a server in their constant order; `close` ends the calls that wait. */
export interface ToolBox {
  readonly tools: readonly Tool[]
  close(): void
}

/** The tools of `serve`; those about notes only where notes are kept. */
export function applicationTools(parts: ToolParts, notes?: Notes): ToolBox {
  const { registry, limits, timer } = parts
  const query = querySceneTool(registry, limits.maxUriChars)
  const scene = [
    query,
    sceneChangesTool(registry),
    lookTool({ registry, timer, clock: systemClock }),
  ]
  const uris = notes === undefined ? [sceneCurrentUri] : [sceneCurrentUri, openNotesUri]
  const box = withWait(parts, uris, [...resourceTools(registry), ...scene])
  return notes === undefined ? box : { ...box, tools: [...box.tools, ...noteTools(notes)] }
}

/** How the tools are called that read an application; another program answers them. */
export function applicationDefinitions(parts: ToolParts): readonly Tool['definition'][] {
  const { registry, limits, timer } = parts
  return [
    querySceneTool(registry, limits.maxUriChars).definition,
    sceneChangesTool(registry).definition,
    lookTool({ registry, timer, clock: systemClock }).definition,
    listNotesDefinition,
  ]
}

/** The tools of `gateway`. */
export function gatewayTools(parts: ToolParts): ToolBox {
  return withWait(parts, ['gateway://instances'], resourceTools(parts.registry))
}

const shownLive: ReadonlySet<string> = new Set(['look', 'list_notes'])

/** The same tools: chats that show MCP Apps open the live view with a call of some of them. */
export function withLiveApp({ tools, ...box }: ToolBox): ToolBox {
  const _meta = { ui: { resourceUri: liveAppUri } }
  const linked = tools.map(tool =>
    shownLive.has(tool.definition.name)
      ? { ...tool, definition: { ...tool.definition, _meta } }
      : tool,
  )
  return { ...box, tools: linked }
}

function resourceTools(registry: ServedResources): readonly Tool[] {
  return [listResourcesTool(registry), readResourceTool(registry)]
}

function withWait(
  parts: ToolParts,
  defaultUris: readonly string[],
  others: readonly Tool[],
): ToolBox {
  const wait = new WaitForChange({ ...parts, defaultUris })
  return { tools: [...others, wait], close: () => wait.close() }
}
