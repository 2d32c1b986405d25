import { liveAppUri } from '../../resources/live-app.ts'
import { sceneCurrentUri } from '../../resources/scene/listing.ts'
import { openNotesUri } from '../../notes/note.ts'
import type { Notes } from '../../notes/notes.ts'
import { listResources } from './list-resources.ts'
import { look } from './look.ts'
import { answerNote, listNotes } from './notes.ts'
import { queryScene } from './query-scene.ts'
import { readResource } from './read-resource.ts'
import { sceneChanges } from './scene-changes.ts'
import type { Tool, ToolDefinition, ToolOf, ToolParts } from './tool.ts'
import { waitForChange } from './wait-for-change.ts'

/** The tools of `serve` in their constant order; those about notes only where notes are kept. */
export function applicationTools(parts: ToolParts, notes?: Notes): readonly Tool[] {
  const uris = notes === undefined ? [sceneCurrentUri] : [sceneCurrentUri, openNotesUri]
  const tools = [listResources, readResource, queryScene, sceneChanges, look, waitForChange(uris)]
  const ofNotes = notes === undefined ? [] : [listNotes, answerNote].map(given(notes))
  return [...tools.map(given(parts)), ...ofNotes]
}

/** The tools that read an application; at a gateway an instance answers them. */
export const applicationDefinitions: readonly ToolDefinition[] = [
  queryScene,
  sceneChanges,
  look,
  listNotes,
]

/** The tools of `gateway`. */
export function gatewayTools(parts: ToolParts): readonly Tool[] {
  const tools = [listResources, readResource, waitForChange(['gateway://instances'])]
  return tools.map(given(parts))
}

function given<Parts>(parts: Parts): (tool: ToolOf<Parts>) => Tool {
  return tool => ({ ...tool, call: (args, caller) => tool.call(args, caller, parts) })
}

const shownLive: ReadonlySet<string> = new Set(['look', 'list_notes'])

/** The same tools: chats that show MCP Apps open the live view with a call of some of them. */
export function withLiveApp(tools: readonly Tool[]): readonly Tool[] {
  const ui = { resourceUri: liveAppUri }
  return tools.map(tool =>
    shownLive.has(tool.name) ? { ...tool, meta: { ...tool.meta, ui } } : tool,
  )
}
