import type { JsonObject } from '../../../lib/util/json.ts'
import { liveAppUri } from '../../resources/live-app.ts'
import { sceneCurrentUri } from '../../resources/scene/listing.ts'
import { listResourcesTool } from './list-resources.ts'
import { openNotesUri } from '../../notes/note.ts'
import type { Notes } from '../../notes/notes.ts'
import { lookDefinition, lookTool } from './look.ts'
import { listNotesDefinition, noteTools } from './notes.ts'
import { querySceneDefinition, querySceneTool } from './query-scene.ts'
import { readResourceTool } from './read-resource.ts'
import { sceneChangesDefinition, sceneChangesTool } from './scene-changes.ts'
import type { Tool, ToolDefinition } from './tool.ts'
import { WaitForChange, type WaitParts } from './wait-for-change.ts'

export type ToolParts = Omit<WaitParts, 'defaultUris'>

/** The tools of a server in their constant order; `close` ends the calls that wait. */
export interface ToolBox {
  readonly tools: readonly Tool[]
  /** Of the protocol, which some tools use. */
  readonly extensions?: JsonObject
  close(): void
}

/** The tools of `serve`; those about notes only where notes are kept. */
export function applicationTools(parts: ToolParts, notes?: Notes): ToolBox {
  const { registry, timer } = parts
  const scene = [querySceneTool(registry), sceneChangesTool(registry), lookTool(registry, timer)]
  const uris = notes === undefined ? [sceneCurrentUri] : [sceneCurrentUri, openNotesUri]
  return toolBox(parts, uris, scene, notes && noteTools(notes))
}

/** The tools that read an application; at a gateway an instance answers them. */
export const applicationDefinitions: readonly ToolDefinition[] = [
  querySceneDefinition,
  sceneChangesDefinition,
  lookDefinition,
  listNotesDefinition,
]

/** The tools of `gateway`. */
export function gatewayTools(parts: ToolParts): ToolBox {
  return toolBox(parts, ['gateway://instances'])
}

function toolBox(
  parts: ToolParts,
  defaultUris: readonly string[],
  scene: readonly Tool[] = [],
  notes: readonly Tool[] = [],
): ToolBox {
  const { registry } = parts
  const wait = new WaitForChange({ ...parts, defaultUris })
  const first = [listResourcesTool(registry), readResourceTool(registry)]
  return { tools: [...first, ...scene, wait.tool, ...notes], close: () => wait.close() }
}

const shownLive: ReadonlySet<string> = new Set(['look', 'list_notes'])

/** The same tools: chats that show MCP Apps open the live view with a call of some of them. */
export function withLiveApp(box: ToolBox): ToolBox {
  const ui = { resourceUri: liveAppUri }
  const tools = box.tools.map(tool =>
    shownLive.has(tool.name) ? { ...tool, meta: { ...tool.meta, ui } } : tool,
  )
  return { ...box, tools, extensions: { 'io.modelcontextprotocol/ui': {} } }
}
