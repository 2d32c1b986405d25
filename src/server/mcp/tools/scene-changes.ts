import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import type { Content } from '../../resources/producer.ts'
import { describeChanges, type SceneChange } from '../../../lib/mcp/change-words.ts'
import { sceneDeltaUri } from '../../resources/scene-listing.ts'
import type { ServedResources } from '../../resources/schemes.ts'
import { kinds } from './arguments.ts'
import { maxChars } from './pages.ts'
import { type Presence, presenceOf } from './presence.ts'
import { createTool, failedResult, textResult, type Tool } from './tool.ts'

/** Lines of changes that one answer has. */
const maxLines = 100

export const sceneChangesDefinition = {
  name: 'scene_changes',
  title: 'Changes of the scene',
  description:
    'Tell in words what changed in the scene since a revision or a checkpoint: what was moved, ' +
    'added, removed, renamed or set. Answers name the revision to use as since next time.',
  searchHint: 'what changed, difference, history, compare with before, moved added removed objects',
  input: z.strictObject({
    since: kinds.offset('revision seen last; absent: the one before the present').optional(),
    checkpoint: kinds
      .text('name of a checkpoint (scene://checkpoints lists them), instead of since')
      .optional(),
    max_chars: maxChars,
  }),
}

/** Tells what changed in the scene since a revision. */
export function sceneChangesTool(registry: ServedResources): Tool {
  return createTool(
    sceneChangesDefinition,
    async ({ since, checkpoint, max_chars: most }, { reader }) => {
      if (since !== undefined && checkpoint !== undefined) {
        return failedResult('argument_invalid', 'since and checkpoint exclude each other')
      }
      const base = since ?? checkpoint
      const query = base === undefined ? '' : `?since=${encodeURIComponent(String(base))}`
      const contents = await registry.read(`${sceneDeltaUri}${query}`, reader)
      const presence = presenceOf(registry.scene, since)
      const delta = parsedDelta(contents)
      return textResult(deltaText(delta, presence, most), { ...delta, ...presence?.facts })
    },
  )
}

/** The headline, whether the application went or came, and what changed: whole lines. */
export function deltaText(delta: JsonObject, presence: Presence | null, maxChars: number): string {
  const [head = '', ...lines] = deltaLines(delta)
  let text = presence === null ? head : `${head}\n${presence.line}`
  for (const [at, line] of lines.entries()) {
    const rest = `\n… ${lines.length - at} more lines`
    if (text.length + line.length + rest.length > maxChars) return text + rest
    text += `\n${line}`
  }
  return text
}

/** The payload of `scene://delta`. */
export function parsedDelta([content]: readonly Content[]): JsonObject {
  const delta: unknown = content !== undefined && 'text' in content ? JSON.parse(content.text) : {}
  return isJsonObject(delta) ? delta : {}
}

/** A headline and one line for each object that changed. */
function deltaLines(delta: JsonObject): readonly string[] {
  const { revision: now, base_revision, base_checkpoint, reset, hint } = delta
  const base = base_revision ?? `checkpoint ${JSON.stringify(base_checkpoint)}`
  if (typeof hint === 'string') return [hint]
  if (reset === true) {
    const why = 'too much changed, or the earlier revision is not kept'
    return [`revision ${String(now)}; ${why}: read the scene again (query_scene)`]
  }
  const lines = describeChanges(changesOf(delta))
  const head = `${base_revision === undefined ? '' : 'revision '}${String(base)} → ${String(now)}: `
  if (lines.length === 0) return [`${head}nothing that the scene shows has changed`]
  const more = lines.length - maxLines
  return [
    `${head}${lines.length} ${lines.length === 1 ? 'object or setting' : 'objects or settings'} changed`,
    ...lines.slice(0, maxLines).map(line => `- ${line}`),
    ...(more > 0 ? [`… ${more} more`] : []),
    ...(delta.truncated === true ? ['… there are more changes than a delta lists'] : []),
  ]
}

function changesOf({ changes }: JsonObject): readonly SceneChange[] {
  return Array.isArray(changes) ? changes : []
}
