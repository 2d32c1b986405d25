import { liveAppUri } from '../../resources/live-app.ts'
import { sceneCurrentUri } from '../../resources/scene/listing.ts'
import { openNotesUri } from '../../notes/note.ts'
import { listResources } from './list-resources.ts'
import { look } from './look.ts'
import { answerNote, listNotes } from './notes.ts'
import { queryScene } from './query-scene.ts'
import { readResource } from './read-resource.ts'
import { sceneChanges } from './scene-changes.ts'
import type { Tool } from './tool.ts'
import { waitForChange } from './wait-for-change.ts'

/** The tools of `serve` in their constant order; those about notes only where notes are kept. */
export function applicationTools(hasNotes: boolean): readonly Tool[] {
  const uris = hasNotes ? [sceneCurrentUri, openNotesUri] : [sceneCurrentUri]
  const tools = [listResources, readResource, queryScene, sceneChanges, look, waitForChange(uris)]
  return hasNotes ? [...tools, listNotes, answerNote] : tools
}

/** The tools that read an application; at a gateway an instance answers them. */
export const relayedTools: readonly Tool[] = [queryScene, sceneChanges, look, listNotes]

/** The tools of `gateway`. */
export const gatewayTools: readonly Tool[] = [
  listResources,
  readResource,
  waitForChange(['gateway://instances']),
]

const shownLive: ReadonlySet<string> = new Set(['look', 'list_notes'])

/** The same tools: chats that show MCP Apps open the live view with a call of some of them. */
export function withLiveApp(tools: readonly Tool[]): readonly Tool[] {
  const ui = { resourceUri: liveAppUri }
  return tools.map(tool =>
    shownLive.has(tool.name) ? { ...tool, meta: { ...tool.meta, ui } } : tool,
  )
}
