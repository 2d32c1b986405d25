import { z } from 'zod'
import { asText } from '../../../lib/util/text.ts'
import { deltaText } from '../../../lib/mcp/change-words.ts'
import { arrayOf, type JsonObject } from '../../../lib/util/json.ts'
import { sceneDeltaUri } from '../../resources/scene/listing.ts'
import type { ServedResources } from '../../resources/served-resources.ts'
import * as arg from './arguments.ts'
import { fitting } from './pages.ts'
import { presenceOf } from './presence.ts'
import { contentObject, createTool, failedResult, textResult, type Tool } from './tool.ts'

export const runArgument = arg
  .text('run of that revision, as the answer with it named it')
  .optional()

export const sceneChangesDefinition = {
  name: 'scene_changes',
  title: 'Changes of the scene',
  description:
    'Tell in words what changed in the scene since a revision or a checkpoint: what was moved, ' +
    'added, removed, renamed or set. Answers name the revision and run for the next time.',
  searchHint: 'what changed, difference, history, compare with before, moved added removed objects',
  input: z.strictObject({
    since: arg.count('revision seen last; absent: the one before the present').optional(),
    run: runArgument,
    checkpoint: arg
      .text('name of a checkpoint (scene://checkpoints lists them), instead of since')
      .optional(),
    max_chars: arg.maxChars,
  }),
}

/** Tells what changed in the scene since a revision. */
export function sceneChangesTool(registry: ServedResources): Tool {
  return createTool(
    sceneChangesDefinition,
    async ({ since, run, checkpoint, max_chars: most }, { reader }) => {
      if (since !== undefined && checkpoint !== undefined) {
        return failedResult('argument_invalid', 'since and checkpoint exclude each other')
      }
      const delta = contentObject(await registry.read(deltaUri(since ?? checkpoint, run), reader))
      const presence = presenceOf(registry.scene, since, run)
      const changes = arrayOf(delta.changes)
      // Like the words, the data is no longer than the caller asked for.
      const kept = changes.slice(0, fitting(changes, most, JSON.stringify))
      const cut = kept.length < changes.length ? { changes: kept, truncated: true } : {}
      const more = goOn(delta)
      const words = deltaText(delta, presence, most - more.length) + more
      return textResult(words, { ...delta, ...cut, ...presence?.facts })
    },
  )
}

/** What changed since a revision of that run, or since a checkpoint. */
export function deltaUri(since: number | string | undefined, run: string | undefined): string {
  const query = Object.entries({ since, run }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(String(value).toWellFormed())}`],
  )
  return query.length === 0 ? sceneDeltaUri : `${sceneDeltaUri}?${query.join('&')}`
}

/** Names the scene from which the caller goes on; empty where the server has none. */
export function goOn({ run, revision }: JsonObject): string {
  return revision === undefined ? '' : `\ngo on with since=${asText(revision)}, run=${asText(run)}`
}
