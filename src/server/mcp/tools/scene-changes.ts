import { z } from 'zod'
import { asText } from '../../../lib/util/text.ts'
import { deltaText } from '../../../lib/mcp/change-words.ts'
import { arrayOf, type JsonObject } from '../../../lib/util/json.ts'
import type { Reader } from '../../resources/producer.ts'
import { sceneDeltaUri } from '../../resources/scene/listing.ts'
import type { ServedResources } from '../../resources/served-resources.ts'
import { fitting, maxChars } from './pages.ts'
import { presenceOf } from './presence.ts'
import { contentObject, createTool, failedResult, textResult } from './tool.ts'
import { withQuery } from './written-uri.ts'

export const runArgument = z
  .string()
  .describe('run of that revision, as the answer with it named it')
  .optional()

/** Tells what changed in the scene since a revision. */
export const sceneChanges = createTool({
  name: 'scene_changes',
  title: 'Changes of the scene',
  description:
    'Tell in words what changed in the scene since a revision or a checkpoint: what was moved, ' +
    'added, removed, renamed or set. Answers name the revision and run for the next time.',
  searchHint: 'what changed, difference, history, compare with before, moved added removed objects',
  input: z.strictObject({
    since: z
      .int()
      .min(0)
      .describe('revision seen last; absent: the one before the present')
      .optional(),
    run: runArgument,
    checkpoint: z
      .string()
      .describe('name of a checkpoint (scene://checkpoints lists them), instead of since')
      .optional(),
    max_chars: maxChars,
  }),
  async call({ since, run, checkpoint, max_chars: most }, caller, { registry }) {
    if (since !== undefined && checkpoint !== undefined) {
      return failedResult('argument_invalid', 'since and checkpoint exclude each other')
    }
    const base = since ?? checkpoint
    const { delta, presence, text } = await changesSince(registry, base, run, most, caller)
    const changes = arrayOf(delta.changes)
    // Like the words, the data is no longer than the caller asked for.
    const kept = changes.slice(0, fitting(changes, most, JSON.stringify))
    const cut = kept.length < changes.length ? { changes: kept, truncated: true } : {}
    return textResult(text, { ...delta, ...cut, ...presence?.facts })
  },
})

/** What changed since a revision of that run, or since a checkpoint. */
export async function changesSince(
  registry: ServedResources,
  since: number | string | undefined,
  run: string | undefined,
  most: number,
  reader?: Reader,
) {
  const delta = contentObject(await registry.read(withQuery(sceneDeltaUri, { since, run }), reader))
  // Known only once the application was asked.
  const presence = presenceOf(registry.scene, typeof since === 'number' ? since : undefined, run)
  const again = delta.reset === true ? '\nread the scene again (query_scene)' : ''
  const more = again + continueHint(delta)
  return { delta, presence, text: deltaText(delta, presence, most - more.length) + more }
}

/** Names the scene from which the caller goes on; empty where the server has none. */
export function continueHint({ run, revision }: JsonObject): string {
  return revision === undefined ? '' : `\ngo on with since=${asText(revision)}, run=${asText(run)}`
}
